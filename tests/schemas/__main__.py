import sys

from schemas import FILES, report

sys.stdout.write("\n".join(report(tuple(sys.argv[1:]) or FILES)) + "\n")
