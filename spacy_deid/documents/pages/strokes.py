"""Marks on a page that look like text: edges, without straight lines, in connected pieces."""

from typing import Any, NamedTuple

import numpy as np

from .glyphs import Box

__all__ = ["Mask", "Patch", "edges", "find_patches", "pieces", "without_rules"]

Mask = np.ndarray[Any, np.dtype[np.bool_]]
# pixels, at 100 dots an inch
STRAIGHT = 40  # a straight level or upright line that no letter has
FLAT = 3  # a mark that is no higher is a dash
LARGEST = 150  # height of letters
LONG = 300  # a longer mark is a word only if it is dense
FRAME = 3  # a line around a box is so wide at most
CLOSED = 0.85  # share of a side that such a line covers; that of a letter covers less

FAINT = 8  # steps of a channel from which an edge is looked at
DENSE, DENSER = 0.1, 0.3  # share of a letter's box that its edges cover; a curve in a chart covers less
LETTERS = 1.2  # letters, or what is as wide, that may be a text: two that touch are not twice as wide


def edges(values: "np.ndarray[Any, Any]") -> "np.ndarray[Any, np.dtype[np.uint8]]":
    """Measure by how much each pixel differs from the one to its right or the one below.

    values (ndarray): height × width, or height × width × channels, of bytes.
    RETURNS (ndarray): height × width; of several channels the largest difference.
    """
    found = np.zeros(values.shape, np.uint8)
    across = np.maximum(values[:, 1:], values[:, :-1]) - np.minimum(values[:, 1:], values[:, :-1])
    down = np.maximum(values[1:], values[:-1]) - np.minimum(values[1:], values[:-1])
    found[:, :-1] = across
    np.maximum(found[:-1], down, out=found[:-1])
    if found.ndim == 2:
        return found
    merged = found[..., 0]
    for channel in range(1, found.shape[2]):
        merged = np.maximum(merged, found[..., channel])
    return merged


def without_rules(mask: Mask, length: int = STRAIGHT) -> Mask:
    """Take level and upright lines out of a mask: rules, frames, the edges of boxes.

    mask (Mask): height × width.
    length (int): pixels from which a straight run is a line.
    RETURNS (Mask): what is left.
    """
    if not mask.any():
        return mask
    return mask & ~_runs(mask, length) & ~_runs(mask.T, length).T


def _runs(mask: Mask, length: int) -> Mask:
    """The pixels of a mask that stand in a level run of a length or more."""
    if mask.shape[1] < length:
        return np.zeros_like(mask)
    sums = np.cumsum(np.pad(mask, ((0, 0), (1, 0))), axis=1, dtype=np.int32)
    starts = sums[:, length:] - sums[:, :-length] == length
    if not starts.any():
        return np.zeros_like(mask)
    # a pixel is in a run if a run starts at it, or up to length - 1 pixels before it
    padded = np.pad(starts, ((0, 0), (length, length - 1)))
    sums = np.cumsum(padded, axis=1, dtype=np.int32)
    return sums[:, length:] - sums[:, :-length] > 0


def pieces(mask: Mask) -> list[Box]:
    """Find the connected pieces of a mask; pixels that touch at a corner are connected.

    mask (Mask): height × width.
    RETURNS (list[Box]): what each piece covers, in pixels, from the top.
    """
    padded = np.pad(mask, ((0, 0), (1, 1))).astype(np.int8)
    steps = np.diff(padded, axis=1)
    rows, starts = np.nonzero(steps == 1)
    _, ends = np.nonzero(steps == -1)
    parent = list(range(len(rows)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    above = 0  # the first run of the row above that may touch
    for i, (row, start, end) in enumerate(zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True)):
        while above < i and (rows[above] < row - 1 or (rows[above] == row - 1 and ends[above] < start)):
            above += 1
        j = above
        while j < i and rows[j] == row - 1 and starts[j] <= end:
            parent[root(j)] = root(i)
            j += 1
    return _boxes(rows, starts, ends, [root(i) for i in range(len(rows))])


def _boxes(rows: Any, starts: Any, ends: Any, roots: list[int]) -> list[Box]:
    """What the runs of each piece cover."""
    if not roots:
        return []
    names, labels = np.unique(roots, return_inverse=True)
    count = len(names)
    left, top = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).max)
    right, bottom = np.zeros(count, np.int64), np.zeros(count, np.int64)
    np.minimum.at(left, labels, starts)
    np.minimum.at(top, labels, rows)
    np.maximum.at(right, labels, ends)
    np.maximum.at(bottom, labels, rows + 1)
    boxes = [Box(*map(float, box)) for box in zip(left, top, right, bottom, strict=True)]
    return sorted(boxes, key=lambda box: (box.y0, box.x0))


class Patch(NamedTuple):
    """Marks that stand close together and look like text.

    box (Box): what they cover, in pixels.
    letters (list[Box]): the marks that are as large as letters.
    """

    box: Box
    letters: list[Box]


def find_patches(values: "np.ndarray[Any, Any]") -> list[Patch]:
    """Find what looks like text in a picture of 100 dots an inch.

    Rules, frames, filled boxes, check boxes, single dots and long curves do not.

    values (ndarray): height × width × channels, of bytes.
    RETURNS (list[Patch]): from the top.
    """
    mask = without_rules(edges(values) >= FAINT)
    if not mask.any():
        return []
    letters = [box for box in pieces(mask) if _is_letter(box, mask)]
    near = np.zeros_like(mask)
    for box in letters:
        x0, y0, x1, y1 = (int(value) for value in box)
        room = max(3, (min(y1 - y0, x1 - x0) + 1) // 2)
        near[max(y0 - room, 0) : y1 + room, max(x0 - room, 0) : x1 + room] = True
    patches = []
    for around in pieces(near):
        inside = [box for box in letters if around.x0 <= box.x0 < around.x1 and around.y0 <= box.y0 < around.y1]
        if sum(map(_width, inside)) >= LETTERS and any(min(_size(box)) > FLAT for box in inside):
            patches.append(Patch(around, inside))
    return patches


def _size(box: Box) -> tuple[float, float]:
    return box.x1 - box.x0, box.y1 - box.y0


def _width(box: Box) -> float:
    """How many letters a mark is: a word whose letters touch is one mark."""
    wide, high = _size(box)
    return max(1.0, wide / high, high / wide)


def _is_letter(box: Box, mask: Mask) -> bool:
    """Whether a mark has the size of a letter and is neither a frame nor a thin curve."""
    x0, y0, x1, y1 = (int(value) for value in box)
    wide, high = x1 - x0, y1 - y0
    if high <= FLAT or min(wide, high) > LARGEST:
        return False
    part = mask[y0:y1, x0:x1]
    if part.mean() < (DENSER if max(wide, high) > LONG else DENSE):
        return False
    return min(wide, high) <= 2 * FRAME or not _is_frame(part)


def _is_frame(part: Mask) -> bool:
    """Whether a mark is a line around nothing, as a check box is."""
    sides = (part[:FRAME], part[-FRAME:], part[:, :FRAME].T, part[:, -FRAME:].T)
    return all(side.any(axis=0).mean() > CLOSED for side in sides) and not part[FRAME:-FRAME, FRAME:-FRAME].any()
