"""The peer's side of the messages (see peer_process.py): JSON lines in, JSON lines out."""

import gc
import json
import os
import sys
import time


def serve(make, clock=time.process_time):
    """`make(work, **options)` gives `(result, call)`: a result to compare, and the function to be
    timed."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print goes elsewhere
    calls = {}
    gc.disable()
    for line in sys.stdin:
        message = json.loads(line)
        try:
            if message["do"] == "make":
                result, calls[message["work"]] = make(message["work"], **message["options"])
                answer = {"result": result}
            else:
                call, repeats = calls[message["work"]], range(message["repeats"])
                start = clock()
                for _ in repeats:
                    call()
                answer = {"seconds": (clock() - start) / message["repeats"]}
                gc.collect()
        except Exception as error:
            import traceback

            traceback.print_exc()
            first = str(error).splitlines()[0] if str(error) else ""
            answer = {"error": f"{type(error).__name__}: {first}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
