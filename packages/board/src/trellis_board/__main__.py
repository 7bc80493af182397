"""``python -m trellis_board`` is ``trellis-board``."""

from .commands import main

raise SystemExit(main())
