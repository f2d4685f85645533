"""Chromium by its debugging pipe, a house, and a bot that answers by script. Standard library only."""

import base64
import http.client
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.parse

# Waiting ends when what is waited for has come; this is only for a machine that is busy with other things.
PATIENCE_S = 120


def find_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


class Chromium:
    """One headless browser; pages are made in contexts that share nothing."""

    def __init__(self, path):
        self.profile = tempfile.mkdtemp(prefix="chromium-")
        to_browser, self.out = os.pipe()
        self.incoming, from_browser = os.pipe()

        def wire():
            # The debugging pipe is fixed to the descriptors 3 and 4. High copies first: the
            # pipes' own descriptors may be just these.
            high_in, high_out = os.dup(to_browser), os.dup(from_browser)
            os.dup2(high_in, 3)
            os.dup2(high_out, 4)

        for fd in (to_browser, from_browser):
            os.set_inheritable(fd, True)
        self.process = subprocess.Popen(
            [
                path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--disable-sync",
                "--disable-background-networking", "--disable-component-update", "--no-first-run", "--mute-audio",
                f"--user-data-dir={self.profile}", "--remote-debugging-pipe", "about:blank",
            ],
            preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.number = 0
        self.answers = {}
        self.events = []
        self.lock = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        buffer = b""
        while True:
            try:
                chunk = os.read(self.incoming, 1 << 16)
            except OSError:
                return
            if not chunk:
                return
            buffer += chunk
            while b"\0" in buffer:
                message, buffer = buffer.split(b"\0", 1)
                data = json.loads(message)
                with self.lock:
                    if "id" in data:
                        self.answers[data["id"]] = data
                    elif not data["method"].startswith("Network."):
                        self.events.append(data)
                    self.lock.notify_all()

    def call(self, method, params=None, session=None):
        with self.lock:
            self.number += 1
            number = self.number
        message = {"id": number, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        with self.lock:
            if not self.lock.wait_for(lambda: number in self.answers, PATIENCE_S):
                raise TimeoutError(f"{method}: no answer")
            answer = self.answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def page(self, url, width=1100, height=900, touch=False, scale=1):
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", {"url": "about:blank", "browserContextId": context})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = Page(self, session, touch, context)
        # The network is listened to from the beginning: what is open already could not be cut later.
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.call(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": touch},
        )
        if touch:
            page.call("Emulation.setTouchEmulationEnabled", {"enabled": True})
        page.go(url)
        return page

    def close(self):
        try:
            self.call("Browser.close")
        except (TimeoutError, RuntimeError, OSError):
            self.process.kill()
        self.process.wait(timeout=PATIENCE_S)
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    def __init__(self, browser, session, touch, context):
        self.browser = browser
        self.session = session
        self.touch = touch
        self.context = context

    def close(self):
        self.browser.call("Target.disposeBrowserContext", {"browserContextId": self.context})

    def call(self, method, params=None):
        return self.browser.call(method, params, self.session)

    def go(self, url):
        self.call("Page.navigate", {"url": url})
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def reload(self):
        self.js("window.stale = true")
        self.call("Page.reload")
        self.until("!window.stale && document.readyState === 'complete'")

    def js(self, expression):
        result = self.call("Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True})
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, expression, what=None):
        """Waits until the expression is true, and returns its value."""
        # An element comes over as an empty object, which Python takes for nothing.
        expression = f"(() => {{ const value = ({expression}); return value instanceof Element ? true : value; }})()"
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                value = self.js(expression)
            except RuntimeError:
                # The page is just being replaced.
                value = None
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"never came true: {what or expression}; page says: {self.problem()}")

    def problem(self):
        try:
            return self.js("document.getElementById('problem')?.textContent ?? ''")
        except RuntimeError:
            return "?"

    def complaints(self):
        """Errors that the page's scripts or its content policy have raised."""
        found = []
        for event in list(self.browser.events):
            if event.get("sessionId") != self.session:
                continue
            if event["method"] == "Runtime.exceptionThrown":
                found.append(event["params"]["exceptionDetails"].get("text", "exception"))
            if event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                entry = event["params"]["entry"]
                # A refused request is told to the user by the page; it is no fault of a script.
                if entry.get("source") != "network":
                    found.append(entry["text"])
        return found

    def shot(self, path):
        data = self.call("Page.captureScreenshot", {"format": "png"})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def centre(self, selector):
        box = self.js(
            f"(() => {{ const r = document.querySelector({json.dumps(selector)})?.getBoundingClientRect();"
            " return r && [r.left + r.width / 2, r.top + r.height / 2]; })()"
        )
        assert box, f"{selector} is not on the page"
        return box

    def place(self, name):
        """The middle of a square, or of a piece in the own pocket (`P@`), on the screen."""
        return self.js(
            f"""(() => {{
              const svg = document.querySelector('#board svg.board');
              svg.scrollIntoView({{ block: 'center' }});
              const name = {json.dumps(name)};
              if (name.endsWith('@')) {{
                const side = document.getElementById('game').dataset.side[0];
                const r = svg.querySelector(`use[data-r="${{name[0]}}"][data-c="${{side}}"]`).getBoundingClientRect();
                return [r.left + r.width / 2, r.top + r.height / 2];
              }}
              let file = name.charCodeAt(0) - 97, rank = Number(name.slice(1)) - 1;
              if (svg.dataset.flipped === 'true') {{ file = svg.dataset.files - 1 - file; rank = 7 - rank; }}
              const p = new DOMPoint(file * 100 + 50, Number(svg.dataset.top) + (7 - rank) * 100 + 50)
                .matrixTransform(svg.getScreenCTM());
              return [p.x, p.y];
            }})()"""
        )

    def click_at(self, point):
        if self.touch:
            self.call("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": point[0], "y": point[1]}]})
            self.call("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
            return
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", {"type": kind, "x": point[0], "y": point[1], "button": "left", "clickCount": 1})

    def click(self, selector):
        self.js(f"document.querySelector({json.dumps(selector)})?.scrollIntoView({{ block: 'center' }})")
        self.click_at(self.centre(selector))

    def press_button(self, text):
        """Clicks the button with this text."""
        self.until(f"[...document.querySelectorAll('button')].some((b) => b.textContent === {json.dumps(text)})", f"button {text}")
        self.js(f"[...document.querySelectorAll('button')].find((b) => b.textContent === {json.dumps(text)}).click()")

    def drag(self, start, end):
        x, y = self.place(start)
        to_x, to_y = self.place(end)
        mouse = lambda kind, x, y: self.call(  # noqa: E731
            "Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1}
        )
        mouse("mousePressed", x, y)
        for part in (0.3, 0.7, 1.0):
            mouse("mouseMoved", x + (to_x - x) * part, y + (to_y - y) * part)
        mouse("mouseReleased", to_x, to_y)

    def key(self, name):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", {"type": kind, "key": name, "code": name})

    def confirm_next(self):
        """Says yes to the next question that the page asks."""
        self.js("window.confirm = () => true")

    def offline(self, off):
        self.call(
            "Network.emulateNetworkConditions",
            {"offline": off, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1},
        )

    def tap(self, start, end):
        self.click_at(self.place(start))
        self.click_at(self.place(end))

    def type_move(self, text):
        self.js("document.querySelector('#typed input').focus()")
        self.call("Input.insertText", {"text": text})
        self.js("document.getElementById('typed').requestSubmit()")

    def plies(self, count):
        self.until(f"document.getElementById('game')?.dataset.ply === '{count}'", f"{count} plies")

    def text(self, selector):
        return self.js(f"document.querySelector({json.dumps(selector)})?.textContent")

    def choose(self, selector, value):
        self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(value)};"
            " e.dispatchEvent(new Event('change', { bubbles: true })); })()"
        )


class House:
    """`seneschal house` with one bot account."""

    def __init__(self, binary):
        self.binary = binary
        self.data = tempfile.mkdtemp(prefix="house-")
        add = [binary, "house", "account", "add", "House_Bot", "--bot", "--data", self.data]
        self.token = subprocess.run(add, capture_output=True, text=True, check=True).stdout.strip()
        self.process = subprocess.Popen(
            [binary, "house", "--listen", "127.0.0.1:0", "--data", self.data],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "RUST_LOG": "warn"},
        )
        self.url = self.process.stdout.readline().split(": ", 1)[1].strip()

    def close(self):
        self.process.terminate()
        report = self.process.stdout.read().strip()
        self.process.wait(timeout=PATIENCE_S)
        shutil.rmtree(self.data, ignore_errors=True)
        return report


class Demo:
    """`seneschal demo`: a house and two bots that play."""

    def __init__(self, binary):
        self.process = subprocess.Popen([binary, "demo"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.first_line = self.process.stdout.readline().strip()
        self.url = self.first_line.split(": ", 1)[1].rstrip("/")

    def close(self):
        # The first signal lets running games end, the second does not wait for them.
        for _ in range(2):
            self.process.terminate()
            time.sleep(0.5)
        report = self.process.stdout.read().strip()
        self.process.wait(timeout=PATIENCE_S)
        return report


class ScriptedBot(threading.Thread):
    """Accepts every challenge and answers from a list of moves; when the list ends it resigns."""

    def __init__(self, house):
        super().__init__(daemon=True)
        self.house = house
        self.replies = []
        self.delay_s = 0
        self.failures = []

    def request(self, method, path, body=None):
        address = urllib.parse.urlsplit(self.house.url)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=120)
        headers = {"Authorization": f"Bearer {self.house.token}", "User-Agent": "scripted/1 user:House_Bot"}
        connection.request(method, path, body, headers)
        return connection.getresponse()

    def lines(self, path):
        response = self.request("GET", path)
        if response.status != 200:
            raise RuntimeError(f"{path}: {response.status}")
        for line in response:
            if line.strip():
                yield json.loads(line)

    def run(self):
        try:
            for event in self.lines("/api/stream/event"):
                if event["type"] == "challenge":
                    self.request("POST", f"/api/challenge/{event['challenge']['id']}/accept").read()
                elif event["type"] == "gameStart":
                    threading.Thread(target=self.play, args=(event["game"]["id"],), daemon=True).start()
        except Exception as failure:
            self.failures.append(repr(failure))

    def play(self, game):
        replies = list(self.replies)
        mine = None
        for event in self.lines(f"/api/bot/game/stream/{game}"):
            if event["type"] == "gameFull":
                mine = 0 if event["white"]["id"] == "house_bot" else 1
            state = event.get("state", event)
            if state.get("type") != "gameState" or state["status"] != "started":
                continue
            if len(state["moves"].split()) % 2 != mine:
                continue
            time.sleep(self.delay_s)
            if replies:
                answer = self.request("POST", f"/api/bot/game/{game}/move/{replies.pop(0)}")
                if answer.status != 200:
                    self.failures.append(f"{game}: {answer.read()}")
            else:
                self.request("POST", f"/api/bot/game/{game}/resign").read()
