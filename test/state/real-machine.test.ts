/** Users, keys, settings of the kernel and mounts with the real programs; what they did is looked at with others. */
import { expect, test } from "vitest";
import {
  ended,
  onNamespacedMachine,
  requireRealMachine,
  said,
  type Step,
} from "../support/machine/namespaced-machine.ts";

const hash =
  "$6$saltsalt$jJ5yfnBEUi9Yq2jjNVa7kJHeyPDvlWjVXNHQJ4tQu2Ew4oiSeYxD1sX1yLr.lvYw0hnbzWxmU2YRHA.LoFwO9.";
const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAlmqkf0nV5rSEJTlQYuSYtTJGYx1pqBqEIxcpu8sXxp ops";
const changed = (count: number) => Array<string>(count).fill("changed");
const unchanged = (count: number) => Array<string>(count).fill("unchanged");

test("users, groups and keys are made, kept and taken away", { timeout: 60_000 }, async (context) => {
  requireRealMachine(context);
  const definitions = [
    { type: "group", name: "fw-team", gid: 4242 },
    {
      type: "user",
      name: "fw-deploy",
      uid: 4243,
      group: "fw-team",
      groups: ["users"],
      shell: "/bin/sh",
      comment: "Deploy us",
      password_hash: hash,
      locked: true,
      expires: "2031-05-17",
      remove_home: true,
    },
    { id: "key", type: "authorized_key", user: "fw-deploy", key, options: "no-pty" },
    {
      id: "own",
      type: "file",
      path: "/home/fw-deploy/own",
      content: "x",
      owner: "fw-deploy",
      group: "fw-team",
    },
    { id: "team", type: "group", name: "users", members: ["fw-deploy"], membership: "inclusive" },
  ];
  const look: Step[] = [
    { command: ["getent", "passwd", "fw-deploy"] },
    { command: ["id", "-Gn", "fw-deploy"] },
    { command: ["getent", "shadow", "fw-deploy"] },
    { command: ["stat", "-c", "%U:%G %a", "/home/fw-deploy/.ssh/authorized_keys", "/home/fw-deploy/.ssh"] },
    { command: ["ssh-keygen", "-lf", "/home/fw-deploy/.ssh/authorized_keys"] },
    { command: ["stat", "-c", "%U:%G", "/home/fw-deploy/own"] },
  ];
  const given = await onNamespacedMachine([
    { mode: "plan", definitions },
    { mode: "apply", definitions },
    ...look,
    { mode: "apply", definitions },
    { command: ["usermod", "-U", "-s", "/bin/false", "-G", "", "-e", "", "fw-deploy"] },
    { mode: "check", definitions },
    { mode: "apply", definitions },
    ...look,
    { mode: "apply", definitions: [] },
    { command: ["getent", "passwd", "fw-deploy"] },
    { command: ["getent", "group", "fw-team"] },
    { command: ["test", "-e", "/home/fw-deploy"] },
    { command: ["pwck", "-r", "-q"] },
    { command: ["grpck", "-r"] },
  ]);
  // The group gets its member with the user already.
  expect(ended(given[0])).toEqual([...Array<string>(4).fill("would_change"), "unchanged"]);
  expect(ended(given[1])).toEqual([...changed(4), "unchanged"]);
  const seen = given.slice(2, 8).map(said);
  expect(seen[0]).toBe("fw-deploy:x:4243:4242:Deploy us:/home/fw-deploy:/bin/sh");
  expect(seen[1]?.split(" ").toSorted()).toEqual(["fw-team", "users"]);
  const day = String(Date.parse("2031-05-17T00:00:00Z") / 86_400_000);
  expect(seen[2]?.split(":").filter((_field, index) => index === 1 || index === 7)).toEqual([
    `!${hash}`,
    day,
  ]);
  expect(seen[3]).toBe("fw-deploy:fw-team 600\nfw-deploy:fw-team 700");
  expect(seen[4]).toContain("ops (ED25519)");
  expect(seen[5]).toBe("fw-deploy:fw-team");
  expect(ended(given[8])).toEqual(unchanged(5));
  expect(said(given[9])).toBe("");
  expect(ended(given[10])?.[1]).toBe("would_change");
  expect(ended(given[11])?.[1]).toBe("changed");
  const again = given.slice(12, 18).map(said);
  expect(again.toSpliced(2, 1)).toEqual(seen.toSpliced(2, 1));
  expect(again[2]).toContain(`:!${hash}:`);
  expect(ended(given[18])?.filter((outcome) => outcome.startsWith("failed"))).toEqual([]);
  expect(given.slice(19, 22).map(said)).toEqual(["exit 2", "exit 2", "exit 1"]);
  expect(JSON.stringify(given.map(({ run }) => run))).not.toContain("$6$");
});

test("a user that was there before gets everything back", { timeout: 60_000 }, async (context) => {
  requireRealMachine(context);
  const look: Step[] = ["passwd", "shadow", "group"].map((table) => ({
    command: ["sh", "-c", `getent ${table} | sort`],
  }));
  const given = await onNamespacedMachine([
    { command: ["useradd", "-m", "-c", "Old", "-G", "users,staff", "-e", "2031-05-17", "fw-old"] },
    { command: ["usermod", "-p", hash, "fw-old"] },
    ...look,
    { mode: "apply", definitions: [{ type: "user", name: "fw-old", ensure: "absent" }] },
    { command: ["getent", "passwd", "fw-old"] },
    { mode: "apply", definitions: [] },
    ...look,
  ]);
  expect(ended(given[5])).toEqual(changed(1));
  expect(said(given[6])).toBe("exit 2");
  expect(ended(given[7])).toEqual(changed(1));
  expect(given.slice(8).map(said)).toEqual(given.slice(2, 5).map(said));
});

test("ages, locks and subordinate numbers come back as they were", { timeout: 120_000 }, async (context) => {
  requireRealMachine(context);
  const shadow = `fw-aged:${hash}:19000:1:90:14:30:22000:`;
  const look: Step[] = [
    ...["passwd", "shadow", "group", "gshadow"].map((table): Step => ({
      command: ["sh", "-c", `grep fw-aged /etc/${table}`],
    })),
    { command: ["sh", "-c", "grep fw-aged /etc/subuid /etc/subgid"] },
    { command: ["chage", "-l", "-i", "fw-aged"] },
  ];
  const user = (more: object) => [{ type: "user", name: "fw-aged", ...more }];
  const cases = [
    { ensure: "absent" },
    { password_hash: hash.replace("saltsalt", "othersal") },
    { password_hash: "*", locked: true },
    { locked: true },
    { expires: "2031-05-17" },
    { comment: "Other", shell: "/bin/false", home: "/srv", groups: ["staff"], membership: "inclusive" },
  ];
  const given = await onNamespacedMachine([
    { command: ["useradd", "-m", "-c", "Old, aged", "-s", "/bin/sh", "-G", "users,games", "fw-other"] },
    { command: ["useradd", "-m", "-c", "Old", "-s", "/bin/sh", "-G", "users,games", "fw-aged"] },
    { command: ["sed", "-i", `s|^fw-aged:.*|${shadow}|`, "/etc/shadow"] },
    ...look,
    ...cases.flatMap((more): Step[] => [
      { mode: "apply", definitions: user(more) },
      { mode: "apply", definitions: [] },
      ...look,
    ]),
    { command: ["pwck", "-r", "-q"] },
    { command: ["grpck", "-r"] },
  ]);
  const seen = given.slice(3, 9).map(said);
  expect(seen[1]).toBe(shadow);
  for (const [at, more] of cases.entries()) {
    const [up, down, ...after] = given.slice(9 + at * 8, 17 + at * 8);
    expect([ended(up), ended(down)], JSON.stringify(more)).toEqual([changed(1), changed(1)]);
    expect(after.map(said), JSON.stringify(more)).toEqual(seen);
  }
});

test("a plan refuses what an apply refuses of accounts", { timeout: 120_000 }, async (context) => {
  requireRealMachine(context);
  const definitions = [
    { type: "user", name: "fw-uid", uid: 33 },
    { type: "user", name: "fw-group", group: "fw-none" },
    { type: "user", name: "fw-groups", groups: ["users", "fw-none"] },
    { type: "user", name: "fw-home", home: "/home/fw-first" },
    { type: "group", name: "fw-gid", gid: 33 },
    { type: "group", name: "fw-members", members: ["fw-nobody"] },
    { type: "group", name: "fw-first", ensure: "absent" },
  ].map((definition) => ({ ...definition, on_failure: "continue" }));
  const given = await onNamespacedMachine([
    { command: ["useradd", "-m", "fw-first"] },
    { command: ["sh", "-c", "cat /etc/passwd /etc/group /etc/shadow /etc/gshadow | sha256sum"] },
    { mode: "plan", definitions },
    { mode: "apply", definitions },
    { command: ["sh", "-c", "cat /etc/passwd /etc/group /etc/shadow /etc/gshadow | sha256sum"] },
  ]);
  expect(ended(given[2])).toEqual([
    "failed: The number 33 belongs to the user www-data.",
    'failed: There is no group "fw-none".',
    'failed: There is no group "fw-none".',
    "failed: /home/fw-first is the home of fw-first; to share it, give create_home: false.",
    "failed: The number 33 belongs to the group www-data.",
    'failed: There is no user "fw-nobody", who is to be a member.',
    "failed: The group fw-first is the primary group of fw-first.",
  ]);
  expect(ended(given[3])).toEqual(ended(given[2]));
  expect(said(given[4])).toBe(said(given[1]));
});

test(
  "a user's own group is not taken away with the user when others declare it",
  { timeout: 60_000 },
  async (context) => {
    requireRealMachine(context);
    const group = { type: "group", name: "fw-own", gid: 4300 };
    const given = await onNamespacedMachine([
      { mode: "apply", definitions: [group, { type: "user", name: "fw-own", group: "fw-own" }] },
      { mode: "apply", definitions: [group] },
      { command: ["getent", "group", "fw-own"] },
      { command: ["getent", "passwd", "fw-own"] },
    ]);
    expect(ended(given[1])).toEqual(["changed", "unchanged"]);
    expect(given.slice(2).map(said)).toEqual(["fw-own:x:4300:", "exit 2"]);
  },
);

test("a setting of the kernel is set, kept and put back", { timeout: 60_000 }, async (context) => {
  requireRealMachine(context);
  const definitions = [
    { type: "sysctl", key: "net.ipv4.ip_forward", value: 1, path: "/etc/fw.conf" },
    { type: "sysctl", key: "net.ipv4.ping_group_range", value: "0 4242", path: "/etc/fw.conf" },
  ];
  const look: Step[] = [
    { command: ["sysctl", "-n", "net.ipv4.ip_forward", "net.ipv4.ping_group_range"] },
    { command: ["sysctl", "-p", "/etc/fw.conf"] },
  ];
  const given = await onNamespacedMachine([
    { command: ["sysctl", "-n", "net.ipv4.ip_forward", "net.ipv4.ping_group_range"] },
    { mode: "apply", definitions },
    ...look,
    { mode: "apply", definitions },
    { command: ["sysctl", "-w", "net.ipv4.ip_forward=0"] },
    { mode: "check", definitions },
    { mode: "apply", definitions: [] },
    ...look,
    { mode: "apply", definitions: [{ type: "sysctl", key: "net.ipv4.ip_forward", value: "yes" }] },
  ]);
  expect(ended(given[1])).toEqual(changed(2));
  expect(said(given[2])).toBe("1\n0\t4242");
  expect(said(given[3])).toBe("net.ipv4.ip_forward = 1\nnet.ipv4.ping_group_range = 0 4242");
  expect(ended(given[4])).toEqual(unchanged(2));
  expect(ended(given[6])).toEqual(["would_change", "unchanged"]);
  expect(ended(given[7])).toEqual(["changed", "changed"]);
  expect(said(given[8])).toBe(said(given[0]));
  expect(given[9]?.command?.exitCode).not.toBe(0);
  expect(given[10]?.run?.[0]).toMatchObject({ code: "COMMAND_FAILED" });
});

test("a file system is mounted, kept and unmounted", { timeout: 60_000 }, async (context) => {
  requireRealMachine(context);
  const path = "/mnt/my cache";
  const mount = (...options: string[]) => [
    { type: "directory", path },
    { type: "mount", path, device: "tmpfs", fstype: "tmpfs", options },
  ];
  const definitions = mount("size=1m", "noexec");
  const given = await onNamespacedMachine([
    { mode: "apply", definitions },
    { command: ["mountpoint", "-q", path] },
    { command: ["findmnt", "-n", "-o", "FSTYPE,OPTIONS", path] },
    { command: ["findmnt", "--fstab", "-n", "-o", "TARGET,SOURCE", path] },
    { mode: "apply", definitions },
    { command: ["umount", path] },
    { mode: "check", definitions },
    { mode: "apply", definitions },
    { mode: "apply", definitions: mount("size=2m", "noexec", "ro") },
    { command: ["findmnt", "-n", "-o", "OPTIONS", path] },
    { mode: "apply", definitions: [] },
    { command: ["mountpoint", "-q", path] },
    { command: ["grep", "-c", "cache", "/etc/fstab"] },
    { command: ["test", "-e", path] },
  ]);
  expect(ended(given[0])).toEqual(changed(2));
  expect(said(given[1])).toBe("");
  expect(said(given[2])).toMatch(/^tmpfs\s+rw,noexec,relatime,size=1024k/);
  expect(said(given[3])).toMatch(/^\/mnt\/my cache\s+tmpfs$/);
  expect(ended(given[4])).toEqual(unchanged(2));
  expect(ended(given[6])).toEqual(["unchanged", "would_change"]);
  expect(ended(given[7])).toEqual(["unchanged", "changed"]);
  expect(ended(given[8])).toEqual(["unchanged", "changed"]);
  expect(said(given[9])).toMatch(/^ro,noexec,relatime,size=2048k/);
  expect(ended(given[10])).toEqual(changed(2));
  expect(given.slice(11).map(said)).toEqual(["exit 1", "exit 1", "exit 1"]);
});

test("a purge leaves what is mounted below", { timeout: 60_000 }, async (context) => {
  requireRealMachine(context);
  const given = await onNamespacedMachine([
    { command: ["mkdir", "-p", "/mnt/d/sub/disk", "/mnt/d/sub/empty"] },
    { command: ["mount", "--bind", "/etc", "/mnt/d/sub/disk"] },
    { write: "/mnt/d/stranger", content: "x" },
    { mode: "apply", definitions: [{ type: "directory", path: "/mnt/d", purge: true }] },
    { command: ["find", "/mnt/d", "-maxdepth", "2"] },
    { command: ["test", "-e", "/mnt/d/sub/disk/passwd"] },
  ]);
  expect(ended(given[3])).toEqual(changed(1));
  expect(said(given[4])).toBe("/mnt/d\n/mnt/d/sub\n/mnt/d/sub/disk");
  expect(said(given[5])).toBe("");
});

test(
  "an option of a mount that is not declared any more is not in force any more",
  { timeout: 60_000 },
  async (context) => {
    requireRealMachine(context);
    const path = "/mnt/cache";
    const version = (...options: string[]): Step => ({
      mode: "apply",
      definitions: [
        { type: "directory", path },
        { type: "mount", path, device: "tmpfs", fstype: "tmpfs", options },
      ],
    });
    const look: Step = { command: ["findmnt", "-n", "-o", "VFS-OPTIONS", path] };
    const given = await onNamespacedMachine([
      version("ro", "noexec", "noatime"),
      look,
      version("size=1m"),
      look,
    ]);
    expect([said(given[1]), said(given[3])]).toEqual(["ro,noexec,noatime", "rw,relatime"]);
  },
);
