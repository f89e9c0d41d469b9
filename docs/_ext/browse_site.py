"""Opens a built site in a headless Chromium, at a desk and on a phone, in the light and in the dark, search included.

python docs/_ext/browse_site.py build/site [FOLDER FOR PICTURES]

A page fails where anything is asked of another machine, a script complains, the page is wider than the window, a
formula is not drawn, an image has no words, or a text is hard to read on its ground. Where there is no Chromium, it
says so and nothing fails.
"""

import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "report"))

import browser as chromium
from browser import MISSING, Browser, browsing, found

__all__ = ["browse_site"]

WIDTHS = {"desk": 1280, "phone": 390}
SCHEMES = ("light", "dark")
PAGES = (
    "index.html",
    "start/from_a_file.html",
    "command.html",
    "late.html",
    "service.html",
    "service_tutorial.html",
    "classes.html",
    "reference/glossary.html",
    "howto/late_labels.html",
    "howto/from_river.html",
    "understand/how_a_row_flows.html",
    "understand/equation.html",
    "gallery/index.html",
    "gallery/plot_06_drift.html",
    "reference/api/aioli.Auto.html",
    "choosing/index.html",
    "quality.html",
    "search.html?q=certificate",
)
chromium.PATIENCE = 180.0  # seconds for one answer: a build may share its cores
LEAST_CONTRAST = 4.5  # of WCAG 2, level AA; 3 for large letters
LEAST_RESULTS = 3  # pages that a search for "certificate" must find

READY = """new Promise((done) => {
  const waiting = () => location.pathname.endsWith("search.html")
    ? document.querySelectorAll("#search-results li").length < LEAST || /Searching/.test(document.body.textContent)
    : document.querySelector(".math") && !document.querySelector("mjx-container");
  const still = document.createElement("style");  // colours that fade in would be measured half-way
  still.textContent = "*, *::before, *::after { transition: none !important; animation: none !important }";
  document.head.append(still);
  const end = performance.now() + 120000;
  const look = () => (waiting() && performance.now() < end) ? setTimeout(look, 50) : done(null);
  look();
})""".replace("LEAST", str(LEAST_RESULTS))

MEASURE = """(() => {
  const numbers = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, a = 1] = numbers(getComputedStyle(at).backgroundColor);
      if (a > 0.99) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const faint = new Set();
  for (const element of document.querySelectorAll("main *, header *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility({ opacityProperty: true }) || element.closest("svg, .sr-only")) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(numbers(style.color).slice(0, 3)), light(ground(element))].sort((x, y) => y - x);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.6 && style.fontWeight >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : LEAST)) {
      faint.add(`${element.tagName}.${element.className} ${style.color} ${ratio.toFixed(1)}: ` +
        element.textContent.trim().slice(0, 30));
    }
  }
  return {
    page: document.documentElement.scrollWidth,
    window: innerWidth,
    theme: document.documentElement.dataset.theme,
    formulas: document.querySelectorAll("mjx-container").length,
    asked: document.querySelectorAll(".math").length,
    wrong: document.querySelectorAll("mjx-merror, [data-mml-node=merror]").length,
    untold: [...document.querySelectorAll("main img:not([alt])")].map((image) => image.src),
    results: document.querySelectorAll("#search-results li").length,
    faint: [...faint],
  };
})()""".replace("LEAST", str(LEAST_CONTRAST))


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_told: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_request: object) -> None:
        """Say nothing: a browser that leaves a page takes no more of it."""


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    server = _Server(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()


def browse_site(folder: Path, pictures: Path | None = None) -> list[str]:
    """Return one sentence for everything that a reader would see wrong, or that leaves the machine."""
    faults = []
    with _served(folder) as address, browsing() as browser:
        for page in PAGES:
            for place, width in WIDTHS.items():
                for scheme in SCHEMES:
                    browser.open_address(address + page, width, 900, scheme)
                    browser.evaluate(READY)
                    told = f"{page}, {place}, {scheme}"
                    faults += [f"{told}: {fault}" for fault in _faults(browser, address, page, scheme)]
                    if pictures is not None:
                        name = page.partition(".")[0].replace("/", "_")
                        browser.screenshot(pictures / f"{name}-{place}-{scheme}.png")
    return faults


def _faults(browser: Browser, address: str, page: str, scheme: str) -> Iterator[str]:
    seen = browser.evaluate(MEASURE)
    yield from (f"asks {url}" for url in browser.asked_for if not url.startswith((address, "data:", "blob:")))
    yield from (f"complains: {complaint[:300]}" for complaint in browser.complaints)
    if seen["page"] > seen["window"]:
        yield f"is {seen['page']} wide in a window of {seen['window']}"
    if seen["theme"] != scheme:
        yield f"is shown in the theme {seen['theme']}"
    if seen["wrong"] or (seen["asked"] and not seen["formulas"]):
        yield f"draws {seen['formulas']} of {seen['asked']} formulas, {seen['wrong']} of them wrong"
    if page.startswith("search") and seen["results"] < LEAST_RESULTS:
        yield f"finds {seen['results']} pages"
    yield from (f"does not say in words what {source} shows" for source in seen["untold"])
    yield from (f"is hard to read: {text}" for text in seen["faint"])


if __name__ == "__main__":
    if found() is None:
        print(MISSING)
        sys.exit()
    place = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
    wrong = browse_site(Path(sys.argv[1]).resolve(), place)
    print(
        "\n".join(wrong)
        or f"{len(PAGES)} pages in a browser, at a desk and on a phone, light and dark: nothing is wrong"
    )
    sys.exit(bool(wrong))
