/** Small models of sysctl, mount and umount, over the files that a kernel shows. */
import type { FileStat, HostFiles } from "../../../lib/host/host.ts";
import type { MemoryHost, MemoryProgram } from "../../../lib/host/memory-host.ts";

const mountTable = "/proc/self/mountinfo";

/** The settings and mounts of a fresh machine. */
export function prepareKernel({ files }: { files: HostFiles }): void {
  const folders = [
    "/proc",
    "/proc/self",
    "/proc/sys",
    "/proc/sys/net",
    "/proc/sys/net/ipv4",
    "/etc/sysctl.d",
  ];
  for (const folder of folders) files.makeDirectory(folder, { mode: 0o555 });
  files.writeFile("/proc/sys/net/ipv4/ip_forward", Buffer.from("0\n"), { mode: 0o644 });
  files.writeFile("/proc/sys/net/ipv4/tcp_rmem", Buffer.from("4096\t131072\t6291456\n"), { mode: 0o644 });
  files.writeFile(mountTable, Buffer.from("22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"), { mode: 0o444 });
  files.writeFile("/etc/fstab", Buffer.from("# the disks\n/dev/sda1 / ext4 defaults 0 1\n"), { mode: 0o644 });
}

/** The programs by name; `host` is asked for when one is run. */
export function kernelPrograms(host: () => MemoryHost): Record<string, MemoryProgram> {
  const hidden = new Map<string, Entry[]>();
  return {
    sysctl({ argv }) {
      const [, key = "", value = ""] = /^(.+?)=(.*)$/.exec(argv.at(-1) ?? "") ?? [];
      const path = `/proc/sys/${key.replaceAll(".", "/")}`;
      if (value === "refused")
        return { exitCode: 255, stderr: `sysctl: setting key "${key}": Invalid argument` };
      host().files.writeFile(path, Buffer.from(`${value.replaceAll(" ", "\t")}\n`), {});
      return {};
    },
    mount({ argv }) {
      const before = readLines(host().files).length;
      const result = mount(host().files, argv);
      const path = argv.at(-1) ?? "";
      if (readLines(host().files).length > before) hidden.set(path, takeOut(host().files, path));
      return result;
    },
    umount({ argv }) {
      const path = escape(argv.at(-1) ?? "");
      const lines = readLines(host().files);
      const at = lines.findLastIndex((line) => line.split(" ")[4] === path);
      if (at === -1) return { exitCode: 32, stderr: `umount: ${path}: not mounted.` };
      writeLines(host().files, lines.toSpliced(at, 1));
      const folder = argv.at(-1) ?? "";
      takeOut(host().files, folder);
      putBack(host().files, hidden.get(folder) ?? []);
      return {};
    },
  };
}

/** Something below a folder on which a file system is mounted. */
type Entry = { path: string; stat: FileStat; content?: Uint8Array; target?: string };

/** Empties a folder; what was in it comes before what was in that. */
function takeOut(files: HostFiles, folder: string): Entry[] {
  return files.list(folder).flatMap((name) => {
    const path = `${folder}/${name}`;
    const stat = files.stat(path)!;
    if (stat.kind === "directory") {
      const below = takeOut(files, path);
      files.removeDirectory(path);
      return [{ path, stat }, ...below];
    }
    const entry =
      stat.kind === "file"
        ? { path, stat, content: files.readFile(path) }
        : { path, stat, target: files.readLink(path) };
    files.removeFile(path);
    return [entry];
  });
}

function putBack(files: HostFiles, entries: readonly Entry[]): void {
  for (const { path, stat, content, target } of entries) {
    const { mode, uid, gid } = stat;
    if (content) files.writeFile(path, content, { mode, uid, gid });
    else if (target !== undefined) files.makeSymlink(path, target);
    else files.makeDirectory(path, { mode, uid, gid });
  }
}

function mount(files: HostFiles, argv: readonly string[]): { exitCode?: number; stderr?: string } {
  const option = (flag: string): string => argv[argv.indexOf(flag) + 1] ?? "";
  const path = argv.at(-1) ?? "";
  const lines = readLines(files);
  const isRemount = option("-o").startsWith("remount,");
  const at = isRemount ? lines.findLastIndex((line) => line.split(" ")[4] === escape(path)) : -1;
  const fields = (lines[at] ?? "").split(" ");
  const isByPathAlone = argv.length === 2 + 2 * argv.filter((word) => word === "-o" || word === "-t").length;
  const noted = isRemount && isByPathAlone ? optionsInFstab(files, path) : [];
  const options = [...noted, ...option("-o").split(",")];
  const flags = options.filter((flag) => ["ro", "nosuid", "nodev", "noexec"].includes(flag));
  const times = options.filter((flag) => ["noatime", "relatime"].includes(flag)).at(-1);
  // A remount that says nothing of them leaves the times of access as they are.
  const before = fields[5]?.split(",").includes("noatime") ? "noatime" : "relatime";
  const shown = [
    flags.includes("ro") ? "ro" : "rw",
    ...flags.filter((flag) => flag !== "ro"),
    times ?? before,
  ];
  if (isRemount) {
    writeLines(files, lines.with(at, fields.with(5, shown.join(",")).join(" ")));
    return {};
  }
  const makesFolder = options.some((each) => /^[xX]-mount\.mkdir(?:=|$)/.test(each));
  if (makesFolder && !files.stat(path)) files.makeDirectory(path, { mode: 0o755 });
  if (files.stat(path)?.kind !== "directory")
    return { exitCode: 32, stderr: `mount: ${path}: mount point does not exist.` };
  const line = `30 22 0:40 / ${escape(path)} ${shown.join(",")} - ${option("-t")} ${escape(argv.at(-2) ?? "")} rw`;
  writeLines(files, [...lines, line]);
  return {};
}

/** What mount(8) adds where it is told the path alone. */
function optionsInFstab(files: HostFiles, path: string): string[] {
  const lines = Buffer.from(files.readFile("/etc/fstab")).toString().split("\n");
  return (
    lines
      .find((line) => line.split(" ")[1] === escape(path))
      ?.split(" ")[3]
      ?.split(",") ?? []
  );
}

function escape(text: string): string {
  return text.replaceAll(" ", "\\040");
}

function readLines(files: HostFiles): string[] {
  return Buffer.from(files.readFile(mountTable)).toString().split("\n").filter(Boolean);
}

function writeLines(files: HostFiles, lines: readonly string[]): void {
  files.writeFile(mountTable, Buffer.from(lines.map((line) => `${line}\n`).join("")), {});
}
