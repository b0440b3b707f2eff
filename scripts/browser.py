"""Controls headless Chromium: mouse and keyboard input, JavaScript and screenshots.

Uses WebDriver (W3C), a protocol of HTTP and JSON, so that Python's standard library is enough.
"""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

KEYS = {
    "Tab": "\ue004",
    "Shift": "\ue008",
    "Escape": "\ue00c",
    "End": "\ue010",
    "Home": "\ue011",
    "Enter": "\ue007",
    "Left": "\ue012",
    "Up": "\ue013",
    "Right": "\ue014",
    "Down": "\ue015",
}


class Browser:
    """A window of headless Chromium."""

    def __init__(self):
        program = next(
            filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None
        )
        driver = shutil.which("chromedriver")
        if not program or not driver:
            sys.exit("needs Chromium and its driver (Debian: apt install chromium chromium-driver)")
        self.driver = subprocess.Popen(
            [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        output = ""
        for line in self.driver.stdout:
            output += line
            if port := re.search(r"started successfully on port (\d+)", line):
                break
        else:
            sys.exit(f"the driver does not start: {output}")
        self.address = f"http://127.0.0.1:{port[1]}/session"
        # Chromium's sandbox does not work for root.
        arguments = [
            "--headless=new",
            "--window-size=1366,768",
            "--hide-scrollbars",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ]
        arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
        capabilities = {
            "goog:chromeOptions": {"binary": program, "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        session = self.request("", {"capabilities": {"alwaysMatch": capabilities}})
        self.address += "/" + session["sessionId"]

    def request(self, path, data=None, method="POST"):
        """Sends a WebDriver command and returns its result."""
        body = None if data is None else json.dumps(data).encode()
        message = urllib.request.Request(
            self.address + path, body, {"Content-Type": "application/json"}, method=method
        )
        # Bypass proxies for the local machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            return json.load(opener.open(message, timeout=60))["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None

    def close(self):
        try:
            self.request("", method="DELETE")
        finally:
            self.driver.terminate()

    def open(self, address):
        self.request("/url", {"url": address})

    def js(self, script, *arguments):
        return self.request("/execute/sync", {"script": script, "args": list(arguments)})

    def until(self, condition, *arguments):
        """Waits until a script returns a true value, and returns it."""
        for _ in range(200):
            if result := self.js(f"return {condition}", *arguments):
                return result
            time.sleep(0.05)
        raise AssertionError(f"timed out: {condition}")

    def settle(self):
        """Waits until all changes are drawn."""
        self.request(
            "/execute/async",
            {
                "script": "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))",
                "args": [],
            },
        )

    def console(self):
        """Console messages since the last call, without hints about canvas readback."""
        messages = [entry["message"] for entry in self.request("/se/log", {"type": "browser"})]
        return [message for message in messages if "willReadFrequently" not in message]

    def requests(self):
        """Addresses requested since the last call."""
        events = [
            json.loads(entry["message"])["message"]
            for entry in self.request("/se/log", {"type": "performance"})
        ]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def keys(self, *names, shift=False):
        """Presses keys one after another on the focused element."""
        actions = [{"type": "keyDown", "value": KEYS["Shift"]}] if shift else []
        for name in names:
            key = KEYS.get(name, name)
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        actions += [{"type": "keyUp", "value": KEYS["Shift"]}] if shift else []
        self.request("/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})
        self.settle()

    def mouse(self, *steps):
        """Steps are ("move", x, y), ("down",) and ("up",)."""
        actions = []
        for kind, *position in steps:
            if kind == "move":
                actions.append(
                    {
                        "type": "pointerMove",
                        "x": round(position[0]),
                        "y": round(position[1]),
                        "duration": 0,
                    }
                )
            else:
                actions.append({"type": "pointer" + kind.title(), "button": 0})
        self.request(
            "/actions",
            {
                "actions": [
                    {
                        "type": "pointer",
                        "id": "mouse",
                        "parameters": {"pointerType": "mouse"},
                        "actions": actions,
                    }
                ]
            },
        )
        self.settle()

    def click(self, selector):
        x, y, width, height = self.box(selector)
        self.mouse(("move", x + width / 2, y + height / 2), ("down",), ("up",))

    def wheel(self, x, y, down):
        step = {
            "type": "scroll",
            "x": round(x),
            "y": round(y),
            "deltaX": 0,
            "deltaY": down,
            "duration": 0,
        }
        self.request("/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [step]}]})
        self.settle()

    def box(self, selector):
        """Left, top, width and height in the window, after scrolling it into view."""
        return self.js(
            """const e = document.querySelector(arguments[0]); e.scrollIntoView({block: "nearest"});
            const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]""",
            selector,
        )

    def command(self, name, **parameters):
        """Runs a command of the Chromium DevTools protocol."""
        return self.request("/goog/cdp/execute", {"cmd": name, "params": parameters})

    def size(self, width, height):
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.settle()

    def system_theme(self, name):
        self.command(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}]
        )
        self.settle()

    def screenshot(self, path, full_page=False):
        image = self.command("Page.captureScreenshot", captureBeyondViewport=full_page)["data"]
        path.write_bytes(base64.b64decode(image))
