/** What an agent says of its machine: flat, dotted keys. Read from files and the process; no network, no programs. */
import { existsSync, readFileSync, readlinkSync } from "node:fs";
import { arch, cpus, hostname, networkInterfaces, platform, release, totalmem } from "node:os";
import { join } from "node:path";
import { startOf } from "../internal/canonical-json.ts";
import type { Attributes } from "../wire/messages.ts";

/** Where attributes are read from. */
export interface AttributesContext {
  /** Folder that stands for `/`. Default "/". */
  root?: string;
  /** Version of the agent. */
  agentVersion: string;
  /** What the owner of the machine adds. */
  custom: Attributes;
}

/** Longest value that the protocol carries. */
const maxValueLength = 1024;

/** Reads every attribute of the machine. What can't be found out is left out. */
export function collectAttributes(context: AttributesContext): Attributes {
  const { root = "/" } = context;
  const processors = cpus();
  const found: Record<string, string | number | boolean | undefined> = {
    hostname: hostname(),
    fqdn: qualifiedName(root),
    ...systemAttributes(root),
    "cpu.count": processors.length,
    "cpu.model": processors[0]?.model.trim(),
    "memory.total_bytes": totalmem(),
    init_system: initSystem(root),
    package_manager: packageManager(root),
    timezone: timeZone(root),
    virtualization: virtualization(root),
    "network.addresses": addresses(),
    "agent.version": context.agentVersion,
    ...context.custom,
  };
  const attributes: Attributes = {};
  for (const [key, value] of Object.entries(found)) {
    if (value === undefined || value === "") continue;
    attributes[key] = typeof value === "string" ? startOf(value, maxValueLength) : value;
  }
  return attributes;
}

/** Families by the distributions that name themselves or that others say they are like. */
const families: [family: string, names: readonly string[]][] = [
  ["debian", ["debian", "ubuntu"]],
  ["redhat", ["rhel", "fedora", "centos"]],
  ["suse", ["suse", "opensuse", "sles"]],
  ["arch", ["arch"]],
  ["alpine", ["alpine"]],
];

function systemAttributes(root: string): Record<string, string | undefined> {
  const common = { "os.kernel": release(), "os.arch": arch() };
  if (platform() !== "linux") return { ...common, "os.family": platform(), "os.distro": platform() };
  const file = parseOsRelease(read(root, "etc/os-release") ?? read(root, "usr/lib/os-release") ?? "");
  const distro = file["ID"] ?? "linux";
  const names = [distro, ...(file["ID_LIKE"] ?? "").split(/\s+/)];
  const family = families.find(([, members]) => names.some((name) => members.includes(name)))?.[0];
  return { ...common, "os.family": family ?? distro, "os.distro": distro, "os.version": file["VERSION_ID"] };
}

/** Reads the format of /etc/os-release: shell assignments without expansion. */
export function parseOsRelease(text: string): Record<string, string> {
  const values: Record<string, string> = {};
  for (const line of text.split("\n")) {
    const [, name, raw] = /^([A-Z][A-Z0-9_]*)=(.*)$/.exec(line.trim()) ?? [];
    if (name === undefined || raw === undefined) continue;
    const quoted = /^(["'])(.*)\1$/.exec(raw);
    values[name] = (quoted?.[2] ?? raw).replace(/\\(["'$`\\])/g, "$1");
  }
  return values;
}

/** The full name that /etc/hosts gives this machine; asking a name server would be a network call. */
function qualifiedName(root: string): string {
  const name = hostname();
  if (name.includes(".")) return name;
  for (const line of (read(root, "etc/hosts") ?? "").split("\n")) {
    const [, ...names] = (line.split("#")[0] ?? "").trim().split(/\s+/);
    const full = names.find((each) => each.startsWith(`${name}.`));
    if (full !== undefined) return full;
  }
  return name;
}

function initSystem(root: string): string | undefined {
  if (platform() === "darwin") return "launchd";
  return firstThere(root, [
    ["systemd", "run/systemd/system"],
    ["openrc", "sbin/openrc"],
    ["sysvinit", "etc/init.d"],
  ]);
}

function packageManager(root: string): string | undefined {
  return firstThere(root, [
    ["apt", "usr/bin/apt-get"],
    ["dnf", "usr/bin/dnf"],
    ["yum", "usr/bin/yum"],
    ["zypper", "usr/bin/zypper"],
    ["apk", "sbin/apk"],
    ["pacman", "usr/bin/pacman"],
    ["brew", "opt/homebrew/bin/brew"],
    ["brew", "usr/local/bin/brew"],
  ]);
}

function timeZone(root: string): string {
  try {
    const [, zone] = /zoneinfo\/(.+)$/.exec(readlinkSync(join(root, "etc/localtime"))) ?? [];
    if (zone !== undefined) return zone;
  } catch {
    // No link: the process knows, though a variable of its own may have told it otherwise.
  }
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** What the firmware calls machines that are none. */
const products: [name: string, pattern: RegExp][] = [
  ["kvm", /KVM|QEMU|Google|Amazon|OpenStack|DigitalOcean|Hetzner/i],
  ["vmware", /VMware/i],
  ["virtualbox", /VirtualBox|innotek/i],
  ["xen", /Xen/i],
  ["hyperv", /Virtual Machine/i],
  ["parallels", /Parallels/i],
];

function virtualization(root: string): string | undefined {
  const container = firstThere(root, [
    ["docker", ".dockerenv"],
    ["podman", "run/.containerenv"],
    ["lxc", "dev/lxd/sock"],
  ]);
  if (container !== undefined || platform() !== "linux") return container;
  const vendor = read(root, "sys/class/dmi/id/sys_vendor") ?? "";
  const product = `${vendor} ${read(root, "sys/class/dmi/id/product_name") ?? ""}`;
  const known = products.find(([, pattern]) => pattern.test(product))?.[0];
  if (known !== undefined) return known;
  const virtual = /^flags\s*:.*\bhypervisor\b/m.test(read(root, "proc/cpuinfo") ?? "");
  return virtual ? "other" : "none";
}

/** As many whole addresses as fit one value, sorted, with commas between them. */
function addresses(): string {
  const all = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
  const reachable = all.filter((entry) => !entry.internal && !entry.address.startsWith("fe80:"));
  const sorted = [...new Set(reachable.map((entry) => entry.address))].sort();
  let joined = sorted.shift() ?? "";
  for (const address of sorted) {
    if (joined.length + 1 + address.length > maxValueLength) break;
    joined += `,${address}`;
  }
  return joined;
}

function firstThere(root: string, candidates: [name: string, path: string][]): string | undefined {
  return candidates.find(([, path]) => existsSync(join(root, path)))?.[0];
}

function read(root: string, path: string): string | null {
  try {
    return readFileSync(join(root, path), "utf8");
  } catch {
    return null;
  }
}
