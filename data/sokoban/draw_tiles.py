#!/usr/bin/env python3
"""Draws Lodestep's own Sokoban tiles: seven PNG files of 16 x 16 pixels beside this script. Standard library only."""
import pathlib
import struct
import zlib

SIZE = 16
FLOOR, FLOOR_DOT = (235, 230, 218), (221, 214, 198)
BRICK, BRICK_LIGHT, MORTAR = (92, 104, 122), (112, 126, 146), (60, 68, 82)
GOAL, GOAL_FLOOR = (46, 139, 139), (178, 218, 212)
WOOD, WOOD_DARK, WOOD_LIGHT = (196, 140, 70), (128, 84, 36), (222, 172, 104)
DONE, DONE_DARK, DONE_LIGHT = (104, 168, 84), (56, 104, 44), (150, 204, 124)
COAT, SKIN, HAIR, SHOE = (58, 96, 190), (240, 198, 160), (74, 52, 40), (40, 40, 52)


def floor():
    tile = [[FLOOR] * SIZE for _ in range(SIZE)]
    for row, col in ((3, 4), (7, 12), (12, 6), (14, 14)):
        tile[row][col] = FLOOR_DOT
    return tile


def wall():
    tile = [[BRICK] * SIZE for _ in range(SIZE)]
    for row in range(SIZE):
        shift = 0 if (row // 4) % 2 == 0 else 4
        for col in range(SIZE):
            if row % 4 == 3 or (col + shift) % 8 == 7:
                tile[row][col] = MORTAR
            elif row % 4 == 0:
                tile[row][col] = BRICK_LIGHT
    return tile


def target(tile):
    for row in range(SIZE):
        for col in range(SIZE):
            distance = (row - 7.5) ** 2 + (col - 7.5) ** 2
            if 16 <= distance <= 32 or distance <= 3:
                tile[row][col] = GOAL
    return tile


def box(tile, body, dark, light):
    for row in range(1, 15):
        for col in range(1, 15):
            edge = row in (1, 14) or col in (1, 14)
            frame = row in (2, 13) or col in (2, 13)
            brace = abs(row - col) <= 1 or abs(row + col - 15) <= 1
            tile[row][col] = dark if edge else light if frame else dark if brace else body
    return tile


FIGURE = (
    "................",
    ".....hhhhhh.....",
    "....hhhhhhhh....",
    "....hssssssh....",
    "....s.ss.sss....",
    "....ssssssss....",
    ".....ssssss.....",
    "...cccccccccc...",
    "..cccccccccccc..",
    "..cc.cccccc.cc..",
    "..ss.cccccc.ss..",
    ".....cccccc.....",
    ".....cc..cc.....",
    ".....cc..cc.....",
    "....bbb..bbb....",
    "................",
)


def player(tile):
    colours = {"h": HAIR, "s": SKIN, "c": COAT, "b": SHOE}
    for row, line in enumerate(FIGURE):
        for col, symbol in enumerate(line):
            if symbol in colours:
                tile[row][col] = colours[symbol]
    tile[4][5] = tile[4][8] = SHOE
    return tile


def png(tile):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(value for pixel in row for value in pixel) for row in tile)
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def main():
    folder = pathlib.Path(__file__).resolve().parent / "tiles"
    folder.mkdir(exist_ok=True)
    tiles = {
        "wall": wall(),
        "floor": floor(),
        "box_target": target(floor()),
        "box_on_target": box(target(floor()), DONE, DONE_DARK, DONE_LIGHT),
        "box": box(floor(), WOOD, WOOD_DARK, WOOD_LIGHT),
        "player": player(floor()),
        "player_on_target": player(target([[GOAL_FLOOR] * SIZE for _ in range(SIZE)])),
    }
    for name, tile in tiles.items():
        (folder / f"{name}.png").write_bytes(png(tile))


if __name__ == "__main__":
    main()
