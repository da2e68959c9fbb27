/** What an agent calls the kinds of machines that there are: each name of each of its tables. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { collectAttributes } from "../../lib/agent/attributes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** What is said of a machine with these files. */
function factsOf(files: Record<string, string>): ReturnType<typeof collectAttributes> {
  const root = temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return collectAttributes({ root, agentVersion: "1.0.0", custom: {} });
}

describe.runIf(process.platform === "linux")("a machine", () => {
  const families: [family: string, distributions: readonly string[]][] = [
    ["debian", ["debian", "ubuntu"]],
    ["redhat", ["rhel", "fedora", "centos"]],
    ["suse", ["suse", "opensuse", "sles"]],
    ["arch", ["arch"]],
    ["alpine", ["alpine"]],
  ];
  const each = families.flatMap(([family, names]) => names.map((name) => [name, family] as const));

  test.each(each)("of %s is of the family %s, and so is one that is like it", (name, family) => {
    expect(factsOf({ "etc/os-release": `ID=${name}\n` })).toMatchObject({
      "os.distro": name,
      "os.family": family,
    });
    for (const like of [name, `"other ${name}"`, `"${name} other"`, `'other ${name} more'`])
      expect(factsOf({ "etc/os-release": `ID=mine\nID_LIKE=${like}\n` })).toMatchObject({
        "os.distro": "mine",
        "os.family": family,
      });
    expect(factsOf({ "etc/os-release": `ID=${name}x\n` })["os.family"]).toBe(`${name}x`);
  });

  test("is read from /usr/lib/os-release where /etc has none, and from that of /etc where both are there", () => {
    const vendor = { "usr/lib/os-release": "ID=fedora\nVERSION_ID=41\n" };
    expect(factsOf(vendor)).toMatchObject({ "os.distro": "fedora", "os.version": "41" });
    expect(factsOf({ ...vendor, "etc/os-release": "ID=alpine\n" })).toMatchObject({ "os.distro": "alpine" });
  });

  const places: [fact: string, inOrder: readonly [name: string, path: string][]][] = [
    [
      "package_manager",
      [
        ["apt", "usr/bin/apt-get"],
        ["dnf", "usr/bin/dnf"],
        ["yum", "usr/bin/yum"],
        ["zypper", "usr/bin/zypper"],
        ["apk", "sbin/apk"],
        ["pacman", "usr/bin/pacman"],
        ["brew", "opt/homebrew/bin/brew"],
        ["brew", "usr/local/bin/brew"],
      ],
    ],
    [
      "init_system",
      [
        ["systemd", "run/systemd/system/x"],
        ["openrc", "sbin/openrc"],
        ["sysvinit", "etc/init.d/x"],
      ],
    ],
    [
      "virtualization",
      [
        ["docker", ".dockerenv"],
        ["podman", "run/.containerenv"],
        ["lxc", "dev/lxd/sock"],
      ],
    ],
  ];
  test.each(
    places.flatMap(([fact, inOrder]) => inOrder.map((one, at) => [fact, ...one, inOrder.slice(at)] as const)),
  )("has the %s %s where %s is there, whatever comes behind it in the list", (fact, name, path, behind) => {
    expect(factsOf({ [path]: "" })[fact]).toBe(name);
    expect(factsOf(Object.fromEntries(behind.map(([, other]) => [other, ""])))[fact]).toBe(name);
  });

  test.each([
    ["kvm", ["QEMU", "KVM", "Google", "Amazon EC2", "OpenStack Foundation", "DigitalOcean", "Hetzner"]],
    ["vmware", ["VMware, Inc."]],
    ["virtualbox", ["innotek GmbH", "VirtualBox"]],
    ["xen", ["Xen"]],
    ["hyperv", ["Microsoft Corporation Virtual Machine"]],
    ["parallels", ["Parallels Software International Inc."]],
    ["none", ["LENOVO", "Dell Inc."]],
  ])("is %s where its firmware says so", (name, words) => {
    for (const word of words)
      for (const file of ["sys_vendor", "product_name"])
        expect(factsOf({ [`sys/class/dmi/id/${file}`]: `${word}\n` })["virtualization"]).toBe(name);
  });

  test("is one of a kind that nobody knows where its processor says that there is a hypervisor", () => {
    const cpuinfo = (flags: string): Record<string, string> => ({
      "proc/cpuinfo": `processor\t: 0\nflags\t\t: ${flags}\n`,
    });
    expect(factsOf(cpuinfo("fpu hypervisor sse"))["virtualization"]).toBe("other");
    expect(factsOf(cpuinfo("fpu sse"))["virtualization"]).toBe("none");
    const known = { ...cpuinfo("hypervisor"), "sys/class/dmi/id/sys_vendor": "QEMU" };
    expect(factsOf(known)["virtualization"]).toBe("kvm");
    expect(factsOf({ ...known, ".dockerenv": "" })["virtualization"]).toBe("docker");
  });
});
