"""Checks a built site: every internal link and anchor leads somewhere, and no page asks another machine for anything.

python docs/_ext/check_site.py build/site
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["check_site"]

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}


class Page(HTMLParser):
    """The links of a page, what it loads, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, loads, or is called."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if LOADED.get(tag) in given and given.get("rel") != "canonical":
            self.loads.append(given[LOADED[tag]])


def check_site(folder: Path) -> list[str]:
    """Return one sentence for every link that leads nowhere and every thing that is loaded from elsewhere."""
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.html"))
        if "_static" not in path.parts
    }
    faults = []
    for path, page in pages.items():
        name = path.relative_to(folder)
        for target in page.links + page.loads:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loads and parts.scheme != "data":
                    faults.append(f"{name}: loads {target} from another machine")
                continue
            file = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            if not file.exists():
                faults.append(f"{name}: links to {target}, and there is no such file")
            elif parts.fragment and file in pages and unquote(parts.fragment) not in pages[file].anchors:
                faults.append(f"{name}: links to {target}, and that page has no such anchor")
    return faults


if __name__ == "__main__":
    found = check_site(Path(sys.argv[1]).resolve())
    print("\n".join(found) or "every internal link and anchor leads somewhere; nothing is loaded from elsewhere")
    sys.exit(bool(found))
