"""The icons, drawn on a 16 by 16 grid in the text's own colour."""

from __future__ import annotations

from html import escape

SHAPES: dict[str, str] = {
    "met": '<circle cx="8" cy="8" r="6.5"/><path d="m5.2 8.2 2 2 3.7-4.2"/>',
    "partial": '<circle cx="8" cy="8" r="6.5"/><path d="M8 1.5a6.5 6.5 0 0 1 0 13z" fill="currentColor"/>',
    "missing": '<circle cx="8" cy="8" r="6.5" stroke-dasharray="2.2 2"/><path d="M5.5 8h5"/>',
    "contradicted": '<circle cx="8" cy="8" r="6.5"/><path d="m5.8 5.8 4.4 4.4m0-4.4-4.4 4.4"/>',
    "practise": '<path d="M2.5 13.5h11M3.5 10.5 10.8 3.2a1.2 1.2 0 0 1 1.7 0l.3.3a1.2 1.2 0 0 1 0 1.7L5.5 12.5 3 13z"/>',
    "calculate": '<path d="M12.5 4.5v-2h-9L8 8l-4.5 5.5h9v-2"/>',
    "playground": '<path d="M1.5 5h3v6h-3zM6 5h3v6H6z"/><path d="M12 3v10M10.8 3h2.4m-2.4 10h2.4"/>',
    "teach": '<circle cx="6" cy="5.2" r="2.4"/><path d="M1.5 13.5c0-2.6 2-4.2 4.5-4.2s4.5 1.6 4.5 4.2"/>'
    '<path d="M10.6 3a2.4 2.4 0 0 1 0 4.4M12.2 9.7c1.4.6 2.3 1.9 2.3 3.8"/>',
    "account": '<circle cx="8" cy="5.4" r="2.7"/><path d="M2.8 13.8c.3-2.8 2.4-4.4 5.2-4.4s4.9 1.6 5.2 4.4"/>',
    "search": '<circle cx="7" cy="7" r="4.7"/><path d="m10.6 10.6 3.6 3.6"/>',
    "copy": '<rect x="5.5" y="5.5" width="8" height="8" rx="1.5"/><path d="M10.5 3V2.5h-8v8H3"/>',
    "link": '<path d="M6.8 9.2a2.7 2.7 0 0 0 3.9 0l2.3-2.3a2.75 2.75 0 0 0-3.9-3.9L8 4.1"/>'
    '<path d="M9.2 6.8a2.7 2.7 0 0 0-3.9 0L3 9.1A2.75 2.75 0 0 0 6.9 13L8 11.9"/>',
    "light": '<circle cx="8" cy="8" r="2.8"/><path d="M8 1.5v1.3m0 10.4v1.3M1.5 8h1.3m10.4 0h1.3'
    'M3.4 3.4l.9.9m7.4 7.4.9.9m0-9.2-.9.9m-7.4 7.4-.9.9"/>',
    "dark": '<path d="M13.5 9.6A5.8 5.8 0 0 1 6.4 2.5a5.8 5.8 0 1 0 7.1 7.1z"/>',
    "system": '<rect x="1.8" y="2.8" width="12.4" height="8.4" rx="1.2"/><path d="M5.5 13.8h5"/>',
    "clock": '<circle cx="8" cy="8" r="6.5"/><path d="M8 4.3V8l2.4 1.6"/>',
    "info": '<circle cx="8" cy="8" r="6.5"/><path d="M8 7.4v3.8M8 4.9v.1"/>',
    "warning": '<path d="M8 2 1.6 13.5h12.8z"/><path d="M8 6.4v3.3m0 1.9v.1"/>',
    "error": '<path d="M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3l-3.8-3.8V5.3z"/><path d="M8 4.8v3.7m0 2.4v.1"/>',
    "good": '<circle cx="8" cy="8" r="6.5"/><path d="m5.2 8.2 2 2 3.7-4.2"/>',
    "run": '<path d="M4.5 2.8v10.4L13 8z"/>',
    "stop": '<rect x="3.5" y="3.5" width="9" height="9" rx="1"/>',
    "file": '<path d="M9.5 1.5h-6v13h9v-10z"/><path d="M9.5 1.5v3h3M5.8 8h4.4m-4.4 2.8h4.4"/>',
    "upload": '<path d="M8 10.5v-8m-3 3 3-3 3 3M2.5 10.5v3h11v-3"/>',
    "download": '<path d="M8 2.5v8m-3-3 3 3 3-3M2.5 10.5v3h11v-3"/>',
    "arrow": '<path d="M3 8h10m-4-4 4 4-4 4"/>',
    "back": '<path d="M13 8H3m4-4L3 8l4 4"/>',
    "close": '<path d="m4 4 8 8m0-8-8 8"/>',
    "add": '<path d="M8 3v10M3 8h10"/>',
    "edit": '<path d="M9.5 4 12 6.5M3 13l.6-3.1 7.3-7.3a1.2 1.2 0 0 1 1.7 0l.8.8a1.2 1.2 0 0 1 0 1.7l-7.3 7.3z"/>',
    "bin": '<path d="M2.5 4.5h11M6 4.5v-2h4v2m-5.8 0 .6 9h6.4l.6-9"/>',
    "repeat": '<path d="M13.5 8a5.5 5.5 0 1 1-1.7-4M12.2 1.5V4.2H9.5"/>',
}


def svg(name: str, *, label: str = "", size: str = "") -> str:
    """Inline SVG of one icon; hidden from screen readers unless it has a `label`. Unknown names: KeyError."""
    if name not in SHAPES:
        raise KeyError(f"No icon {name!r}; there are: {', '.join(sorted(SHAPES))}")
    voice = f'role="img" aria-label="{escape(label)}"' if label else 'aria-hidden="true"'
    classes = f"icon {escape(size)}".strip()
    return f'<svg class="{classes}" viewBox="0 0 16 16" {voice} focusable="false">{SHAPES[name]}</svg>'
