/** What may stand at a path before a resource is applied there. */
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, lchownSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";

/** Makes what stands there, by what it is. */
export const startingStates: Readonly<Record<string, (path: string) => void>> = {
  nothing: () => {},
  "an empty file": (path) => writeFileSync(path, ""),
  "a file of one empty line": (path) => writeFileSync(path, "\n"),
  "a text": (path) => writeFileSync(path, "one\ntwo\nold\nthree\n"),
  "a text without its last line break": (path) => writeFileSync(path, "one\ntwo\nold"),
  "a text whose last line is not ours, without its line break": (path) =>
    writeFileSync(path, "old\ntwo\none"),
  "a text with CRLF": (path) => writeFileSync(path, "one\r\ntwo\r\nold\r\nthree\r\n"),
  "a text with CRLF without its last line break": (path) => writeFileSync(path, "one\r\nold\r\ntwo"),
  "a text with both kinds of line breaks": (path) => writeFileSync(path, "one\r\ntwo\nold\r\nthree\n\n\n"),
  "a text with equal lines": (path) => writeFileSync(path, "old\none\nold\nold\ntwo\none\nold\n"),
  "a text that says it already": (path) => writeFileSync(path, "one\nours 1\ntwo\n"),
  "a text with a block": (path) => writeFileSync(path, "one\n# BEGIN block\nold\n\n# END block\ntwo\n"),
  "a text with an empty block": (path) => writeFileSync(path, "one\n# BEGIN block\n# END block\ntwo"),
  "a text with a block in CRLF": (path) =>
    writeFileSync(path, "one\r\n# BEGIN block\r\nold\r\n# END block\r\ntwo\r\n"),
  "bytes that are no text": (path) => writeFileSync(path, Buffer.from([0, 255, 254, 10, 13])),
  "a file of mode 0000": (path) => withMode(path, 0o000),
  "a file of mode 4755": (path) => withMode(path, 0o4755),
  "a file of mode 2711": (path) => withMode(path, 0o2711),
  "a file of somebody without a name": (path) => {
    writeFileSync(path, "one\nold\n");
    chownSync(path, 54_321, 54_322);
    chmodSync(path, 0o6750);
  },
  "a link": (path) => {
    writeFileSync(`${path}.target`, "one\nold\n");
    symlinkSync("./elsewhere", path);
    lchownSync(path, 33, 33);
  },
  "a dangling link": (path) => symlinkSync("/nowhere/at all\n", path),
  "a link to a folder": (path) => {
    mkdirSync(`${path}.folder`);
    symlinkSync(`${path}.folder`, path);
  },
  "an empty folder": (path) => mkdirSync(path, { mode: 0o750 }),
  "an empty folder of mode 1777 of another": (path) => {
    mkdirSync(path);
    chownSync(path, 33, 54_322);
    chmodSync(path, 0o1777);
  },
  "a folder with all kinds of things": fillFolder,
  "a pipe": (path) => execFileSync("mkfifo", ["-m", "0620", path]),
  "a device": (path) => execFileSync("mknod", ["-m", "0606", path, "c", "1", "3"]),
  "a socket": makeSocket,
};

function withMode(path: string, mode: number): void {
  writeFileSync(path, "one\nold\n");
  chmodSync(path, mode);
}

function fillFolder(path: string): void {
  mkdirSync(path);
  chmodSync(path, 0o2751);
  mkdirSync(`${path}/sub folder`);
  chmodSync(`${path}/sub folder`, 0o700);
  mkdirSync(`${path}/sub folder/empty`);
  writeFileSync(`${path}/sub folder/-dash`, "x");
  chmodSync(`${path}/sub folder/-dash`, 0o4511);
  chownSync(`${path}/sub folder/-dash`, 54_321, 33);
  chmodSync(`${path}/sub folder/-dash`, 0o4511);
  writeFileSync(`${path}/.hidden ünïcode\n`, "y");
  symlinkSync("..", `${path}/link`);
  lchownSync(`${path}/link`, 33, 54_322);
  symlinkSync("/nowhere", `${path}/dangling`);
  execFileSync("mkfifo", ["-m", "0620", `${path}/pipe`]);
  execFileSync("mknod", ["-m", "0606", `${path}/device`, "c", "1", "3"]);
  makeSocket(`${path}/socket`);
}

/** Node takes a socket away again when it stops listening. */
function makeSocket(path: string): void {
  const program = "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])";
  const at = path.lastIndexOf("/");
  execFileSync("python3", ["-c", program, path.slice(at + 1)], { cwd: path.slice(0, at) });
}
