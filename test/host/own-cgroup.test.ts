import { expect, test } from "vitest";
import { cgroupFolder } from "../../lib/host/own-cgroup.ts";

const v2 = "24 1 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const v1 = "31 30 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
const hybrid = `${v1}41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n`;

const rows: [name: string, mountinfo: string, cgroup: string, folder: string | null][] = [
  ["the whole tree", v2, "0::/system.slice/agent.service\n", "/sys/fs/cgroup/system.slice/agent.service"],
  ["the root of it", v2, "0::/\n", "/sys/fs/cgroup"],
  ["beside version 1", hybrid, "8:pids:/a\n0::/b\n", "/sys/fs/cgroup/unified/b"],
  [
    "a part of the tree, as a container has it",
    v2.replace(" / /sys", " /docker/1 /sys"),
    "0::/docker/1/x\n",
    "/sys/fs/cgroup/x",
  ],
  ["a part that we are not in", v2.replace(" / /sys", " /docker/1 /sys"), "0::/docker/10\n", null],
  ["outside of our own namespace", v2, "0::/../other\n", null],
  ["a path with spaces", v2.replace("/sys/fs/cgroup", "/a\\040b"), "0::/c d\n", "/a b/c d"],
  ["a name with a space and a colon", v2, "0::/x y:z\n", "/sys/fs/cgroup/x y:z"],
  [
    "mounted twice, where it was mounted last",
    `${v2}50 24 0:22 / /mnt/second rw - cgroup2 cgroup2 rw\n${v1}`,
    "0::/a\n",
    "/mnt/second/a",
  ],
  [
    "mounted twice, the last time without it",
    `${v2}50 24 0:22 /other /mnt/second rw - cgroup2 cgroup2 rw\n`,
    "0::/a\n",
    "/sys/fs/cgroup/a",
  ],
  [
    "beside a group that is named as its line begins",
    hybrid,
    "8:pids:/a0::/c\n0::/b\n",
    "/sys/fs/cgroup/unified/b",
  ],
  ["a tenth tree", hybrid, "10::/c\n0::/b\n", "/sys/fs/cgroup/unified/b"],
  ["version 1 alone", v1, "8:pids:/a\n", null],
  ["no mount of version 2", v1, "0::/a\n", null],
  ["nothing", "", "", null],
];

test.each(rows)("the folder of our own cgroup is found: %s", (_name, mountinfo, cgroup, folder) => {
  expect(cgroupFolder(mountinfo, cgroup)).toBe(folder);
});
