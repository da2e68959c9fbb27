import { expect, test } from "vitest";
import { MemoryHost } from "../../../../lib/host/memory-host.ts";
import { compareLive, type MountWish } from "../../../../lib/state/resources/mount/compare.ts";
import type { MountedEntry } from "../../../../lib/state/resources/mount/tables.ts";
import { text } from "../../../support/laws.ts";

/** A machine with two disks, of which one has another name. */
function machine(): MemoryHost {
  const host = new MemoryHost({});
  for (const path of ["/dev", "/dev/disk"]) host.files.makeDirectory(path, {});
  for (const disk of ["sda", "sdb"]) host.files.writeFile(`/dev/${disk}`, text(""), {});
  host.files.makeSymlink("/dev/disk/data", "../sda");
  return host;
}

const visible = ["ro", "rw", "nosuid", "nodev", "noexec", "noatime", "nodiratime", "relatime"];

const rows: [what: string, wish: Partial<MountWish>, live: Partial<MountedEntry>, differs: string[]][] = [
  ["what is declared", {}, {}, []],
  ["another disk", { device: "/dev/sdb" }, {}, ["device"]],
  ["the disk by another name", { device: "/dev/disk/data" }, {}, []],
  ["a label", { device: "LABEL=data" }, {}, []],
  ["a disk that the machine does not have", { device: "/dev/sdz" }, {}, []],
  ["a name of the kernel for what it booted from", {}, { device: "/dev/root" }, []],
  ["one of many devices", { device: "/dev/sdb", fstype: "btrfs" }, { fstype: "btrfs" }, []],
  ["a folder elsewhere", { device: "/srv", fstype: "none", options: ["bind"] }, {}, []],
  ["a device elsewhere", { device: "/dev/sdb", fstype: "none", options: ["bind"] }, {}, []],
  ["folders elsewhere", { device: "/dev/sdb", fstype: "none", options: ["rbind", "ro"] }, {}, ["options"]],
  ["another type", { fstype: "xfs" }, {}, ["fstype"]],
  ["any type", { fstype: "auto" }, {}, []],
  ["a version of a type", { fstype: "nfs" }, { fstype: "nfs4" }, []],
  ["an older version", { fstype: "nfs4" }, { fstype: "nfs" }, ["fstype"]],
  ["a driver that tells its type", { fstype: "sshfs" }, { fstype: "fuse.sshfs" }, []],
  ["a driver that tells another", { fstype: "sshfs" }, { fstype: "fuse.s3fs" }, ["fstype"]],
  ["a driver that tells none", { fstype: "ntfs" }, { fstype: "fuseblk" }, []],
  ["a driver that tells none, without a disk", { fstype: "sshfs" }, { fstype: "fuse" }, []],
  ["another of many devices", { device: "/dev/sdb", fstype: "bcachefs" }, { fstype: "bcachefs" }, []],
  [
    "another disk with a type of a longer name",
    { device: "/dev/sdb" },
    { fstype: "btrfs2" },
    ["device", "fstype"],
  ],
  ["a type whose name begins like another", { fstype: "nfsd" }, { fstype: "nfs4" }, ["fstype"]],
  ["a type whose name is the beginning of another", { fstype: "ext" }, {}, ["fstype"]],
  ["a driver whose name ends like another", { fstype: "fs" }, { fstype: "fuse.own.fs" }, ["fstype"]],
  ["a type of the kernel that is no driver", { fstype: "sshfs" }, { fstype: "fusectl" }, ["fstype"]],
  ["an option that only the file system knows", { options: ["size=1m", "defaults"] }, {}, []],
  ...visible.map((option): (typeof rows)[number] => [
    `the option ${option}`,
    { options: [option, "size=1m"] },
    { options: visible.filter((each) => each !== option) },
    ["options"],
  ]),
  ...visible.map((option): (typeof rows)[number] => [
    `the option ${option}, which it has`,
    { options: [option] },
    { options: visible },
    [],
  ]),
];

test.each(rows)("%s", (_what, wish, live, differs) => {
  const wanted = { device: "/dev/sda", fstype: "ext4", options: ["defaults"], ...wish };
  const mounted = { device: "/dev/sda", fstype: "ext4", path: "/data", options: ["rw", "relatime"], ...live };
  expect(compareLive(wanted, mounted, machine()).map(({ property }) => property)).toEqual(differs);
});
