"""An engine as a process that speaks UCI, as far as the benches need it."""

import shlex
import subprocess


class UciProcess:
    def __init__(self, command):
        self.command = command
        self.process = subprocess.Popen(
            shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.send("uci")
        self.wait("uciok")
        self.send("setoption name Hash value 64")
        self.send("setoption name Use NNUE value false")

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def lines_until(self, word):
        """The lines it says, the one that begins with the word last."""
        for line in self.process.stdout:
            yield line.strip()
            if line.startswith(word):
                return
        raise SystemExit(f"{self.command} ended unexpectedly")

    def wait(self, word):
        return list(self.lines_until(word))

    def set_up(self, variant, fen):
        """A new game at this position."""
        self.send(f"setoption name UCI_Variant value {variant}")
        self.send("ucinewgame")
        self.send("isready")
        self.wait("readyok")
        self.send(f"position fen {fen}")
