import { expect, test } from "vitest";
import { interpret } from "../../../lib/state/resources/script/interpreter.ts";

const takeAll = ["-c", 'eval "$(cat)" </dev/null'];

test.each<[string[], string[]]>([
  [
    ["/bin/sh", "-eu"],
    ["/bin/sh", "-eu", ...takeAll],
  ],
  [["bash"], ["bash", "--norc", ...takeAll]],
  // Who asks for an interactive one gets its files, too.
  [
    ["bash", "-i"],
    ["bash", "-i", ...takeAll],
  ],
  [
    ["bash", "-e", "-o", "pipefail"],
    ["bash", "--norc", "-e", "-o", "pipefail", ...takeAll],
  ],
  [
    ["/usr/bin/env", "bash"],
    ["/usr/bin/env", "bash", "--norc", ...takeAll],
  ],
  [
    ["/usr/bin/env", "A=1", "/bin/bash", "-e"],
    ["/usr/bin/env", "A=1", "/bin/bash", "--norc", "-e", ...takeAll],
  ],
  [
    ["/usr/bin/env", "-S", "bash -eu"],
    ["/usr/bin/env", "bash", "--norc", "-eu", ...takeAll],
  ],
  [
    ["busybox", "sh"],
    ["busybox", "sh", ...takeAll],
  ],
  [
    ["nice", "-n", "5", "bash"],
    ["nice", "-n", "5", "bash", "--norc", ...takeAll],
  ],
  [
    ["bash", "-s"],
    ["bash", "--norc", ...takeAll],
  ],
  [
    ["bash", "-es", "--", "one", "two"],
    ["bash", "--norc", "-e", ...takeAll, "bash", "one", "two"],
  ],
  // What ends the options is followed by what only looks like one.
  ...["-", "--"].map((end): [string[], string[]] => [
    ["sh", "-s", end, "-x"],
    ["sh", ...takeAll, "sh", "-x"],
  ]),
  ...["-o", "+o", "-eo", "+eo", "-O", "+O"].map((flag): [string[], string[]] => [
    ["sh", flag, "posix", "-u"],
    ["sh", flag, "posix", "-u", ...takeAll],
  ]),
  [
    ["bash", "--init-file", "/x", "-i"],
    ["bash", "--init-file", "/x", "-i", ...takeAll],
  ],
  [
    ["bash", "--rcfile", "/x", "-i"],
    ["bash", "--rcfile", "/x", "-i", ...takeAll],
  ],
  ...["sh", "dash", "ksh", "zsh", "ash"].map((shell): [string[], string[]] => [
    [`/bin/${shell}`, "-e"],
    [`/bin/${shell}`, "-e", ...takeAll],
  ]),
  ..."env busybox nice ionice timeout nohup setsid stdbuf chroot unshare sudo doas"
    .split(" ")
    .map((starter): [string[], string[]] => [
      [`/usr/bin/${starter}`, "5", "sh"],
      [`/usr/bin/${starter}`, "5", "sh", ...takeAll],
    ]),
])("the shell %j takes the whole script first", (interpreter, argv) => {
  expect(interpret(interpreter as [string], "x")).toEqual({ argv, stdin: "x" });
});

test.each<[string[]]>([
  [["python3", "-"]],
  [["/usr/bin/env", "perl"]],
  [["/opt/fish"]],
  // What is run is a file or a text of its own; the script is what that reads.
  [["bash", "/opt/wrapper.sh"]],
  [["bash", "-ec", "cat >/tmp/x"]],
  [["bash", "-sc", "cat >/tmp/x"]],
  [["bash", "-s", "-c", "cat >/tmp/x"]],
  [["ssh", "host", "bash"]],
])("what %j reads is left to it", (interpreter) => {
  expect(interpret(interpreter as [string], "x")).toEqual({ argv: interpreter, stdin: "x" });
});
