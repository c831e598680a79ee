"""Draw what happened in a run of train.py: `python timeline.py FOLDER` writes FOLDER/timeline.svg."""

import json
import sys
from pathlib import Path

WIDTH, ROW, LEFT, TOP = 900, 70, 90, 40
COLOURS = {"step": "#4a7fb5", "started": "#888888", "killed": "#c0392b", "lost": "#d68910", "in": "#2e8b57"}


def draw(events):
    """The picture as SVG: a row for each process, a tick for each step, a labelled mark for what is rare."""
    first, last = events[0]["time"], events[-1]["time"]
    slots = sorted({e["slot"] for e in events})

    def x(event):
        return LEFT + (event["time"] - first) / (last - first) * (WIDTH - LEFT - 30)

    height = TOP + ROW * len(slots) + 30
    size = f'width="{WIDTH}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        f'<rect {size} fill="white"/>',
    ]
    for row, slot in enumerate(slots):
        y = TOP + ROW * row + 35
        lines.append(f'<text x="10" y="{y + 4}" font-size="13">process {slot}</text>')
        lines.append(f'<line x1="{LEFT}" x2="{WIDTH - 30}" y1="{y}" y2="{y}" stroke="#dddddd"/>')
        labels = 0
        for event in (e for e in events if e["slot"] == slot):
            colour = COLOURS[event["event"].split()[0]]
            tall = 4 if event["event"] == "step" else 10
            lines.append(
                f'<line x1="{x(event):.1f}" x2="{x(event):.1f}" y1="{y - tall}" y2="{y + tall}" '
                f'stroke="{colour}" stroke-width="{1 if tall == 4 else 2}"/>'
            )
            if tall == 10:
                up = (-14, 22, -26)[labels % 3]
                labels += 1
                text = event["event"] + (f" at step {event['step']}" if event["step"] else "")
                lines.append(f'<text x="{x(event):.1f}" y="{y + up}" fill="{colour}">{text}</text>')
    lines.append(f'<text x="{LEFT}" y="{height - 8}">0 s</text>')
    lines.append(f'<text x="{WIDTH - 60}" y="{height - 8}">{last - first:.1f} s</text>')
    return "\n".join([*lines, "</svg>", ""])


def main(folder):
    """Read the events and write the picture."""
    events = [
        json.loads(line) for path in folder.glob("events-*.jsonl") for line in path.read_text().splitlines()
    ]
    events.sort(key=lambda e: e["time"])
    (folder / "timeline.svg").write_text(draw(events))
    print(folder / "timeline.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
