"""The conformance board: which behaviour works on which backend, and can be trusted.

It serves any pytest project that runs its tests over several backends. A tour, in the order of a
result's life:

==================  ==============================================================
`comparisons`       counts what a running test really compared
`observers`         lets `numpy.testing` and friends report to that count
`plugin`            ``pytest --board STORE``: from test reports to a recorded part
`records`           what is recorded, as plain dataclasses and as JSON
`store`             SQLite or PostgreSQL, and its transactions
`recording`         a part goes in whole or not at all
`summaries`         rows kept up to date on write, so that reading is quick
`merging`           several stores become one
`upkeep`            delete, prune, back up
`branches`          the one that the public sees, and the others
`settings`          what a project's ``board.toml`` says
`queries`           latest cells, history, the results of a run or commit
`tables`            Markdown tables, read and written
`diff`              what changed between two runs or commits
`trouble`           flaky cells, and what each run broke
`layout`            columns, and how cells are counted
`page_data`         the documents behind the web page
`static_page`       the page as a folder
`server`            the page and the HTTP API
==================  ==============================================================

Importing this package loads nothing but the standard library.
"""

__version__ = "0.2.0"
