import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { collectAttributes, parseOsRelease } from "../../lib/agent/attributes.ts";
import { CustomAttributes } from "../../lib/agent/custom-attributes.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import type { Attributes } from "../../lib/wire/messages.ts";
import { attributesSchema } from "../../lib/wire/messages.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

describe.runIf(process.platform === "linux")("collectAttributes", () => {
  it("reads a machine from its files", () => {
    const { attributes } = collect({
      "etc/os-release": 'ID=ubuntu\nID_LIKE="debian"\nVERSION_ID="24.04"\n',
      "etc/hosts": `127.0.0.1 localhost\n10.0.0.1 ${hostname()}.example.org ${hostname()} # us\n`,
      "usr/bin/apt-get": "",
      "run/systemd/system/x": "",
      "sys/class/dmi/id/sys_vendor": "QEMU\n",
      "usr/share/zoneinfo/Europe/Berlin": "",
    });
    expect(attributes).toMatchObject({
      hostname: hostname(),
      fqdn: `${hostname()}.example.org`,
      "os.family": "debian",
      "os.distro": "ubuntu",
      "os.version": "24.04",
      init_system: "systemd",
      package_manager: "apt",
      virtualization: "kvm",
      timezone: "Europe/Berlin",
      "memory.total_bytes": totalmem(),
      "agent.version": "1.2.3",
    });
    expect(attributesSchema.safeParse(attributes).success).toBe(true);
  });

  it("leaves out what a bare machine does not tell", () => {
    const { attributes } = collect({});
    expect(attributes).toMatchObject({ "os.family": "linux", fqdn: hostname(), virtualization: "none" });
    for (const key of ["os.version", "init_system", "package_manager"])
      expect(attributes).not.toHaveProperty([key]);
  });

  const families: [file: string, family: string][] = [
    ["ID=debian\n", "debian"],
    ['ID="rocky"\nID_LIKE="rhel centos fedora"\n', "redhat"],
    ["ID=alpine\n", "alpine"],
    ["ID=opensuse-leap\nID_LIKE='suse opensuse'\n", "suse"],
    ["ID=void\n", "void"],
  ];
  it.each(families)("tells the family of %j", (file, family) => {
    expect(collect({ "etc/os-release": file }).attributes["os.family"]).toBe(family);
  });

  it("adds what the owner of the machine wrote", () => {
    const { attributes, logger } = collect(
      {},
      {
        "10-rack.json": '{ "rack": "r1", "slot": 4, "nested": { "a": { "b": true } } }',
        "20-over.json": '{ "rack": "r2" }',
        "notes.txt": "not read",
      },
    );
    expect(customOf(attributes)).toEqual({
      "custom.rack": "r2",
      "custom.slot": 4,
      "custom.nested.a.b": true,
    });
    expect(logger.lines).toEqual([]);
  });

  it("leaves out files that it can't use, and says so", () => {
    const { attributes, logger } = collect(
      {},
      {
        "a.json": "{",
        "b.json": "[1]",
        "c.json": `{ "x": "${"y".repeat(70_000)}" }`,
        "d.json": `{ "long": "${"z".repeat(5000)}" }`,
      },
    );
    expect(customOf(attributes)).toEqual({ "custom.long": "z".repeat(1024) });
    expect(logger.of("warn")).toHaveLength(3);
  });

  it("leaves out values that it can't use, and says how many", () => {
    const deep = '{"b":{"c":{"d":{"e":{"f":{"g":{"h":{"i":1}}}}}}}}';
    const text = `{ "rack": "r2", "list": [1], "none": null, "Bad key!": 1, "large": 1e999, "a": ${deep} }`;
    const { attributes, logger } = collect({}, { "a.json": text });
    expect(customOf(attributes)).toEqual({ "custom.rack": "r2" });
    expect(logger.lines.map(({ fields }) => fields?.["reason"])).toEqual(["5 of its values can't be taken."]);
  });

  it("takes names of nine parts, which eight objects in each other give, and no deeper ones", () => {
    const nested = (depth: number): string => '{"a":'.repeat(depth) + "1" + "}".repeat(depth);
    expect(customOf(collect({}, { "a.json": nested(8) }).attributes)).toEqual({
      [`custom${".a".repeat(8)}`]: 1,
    });
    expect(customOf(collect({}, { "a.json": nested(9) }).attributes)).toEqual({});
  });

  it("bounds how many the owner can add, says so, and lets a later file replace what is there", () => {
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`k${at}`, at]));
    const { attributes, logger } = collect({}, { "a.json": JSON.stringify(many), "b.json": '{ "k0": "b" }' });
    expect(Object.keys(customOf(attributes))).toHaveLength(200);
    expect(attributes["custom.k0"]).toBe("b");
    expect(logger.lines.map(({ fields }) => fields?.["reason"])).toEqual([
      "100 of its values can't be taken.",
    ]);
  });

  it("reads the first 50 files, and says that there are more", () => {
    const files = Object.fromEntries(
      Array.from({ length: 60 }, (_, at) => [`${at + 10}.json`, `{"k${at}":1}`]),
    );
    const { attributes, logger } = collect({}, files);
    expect(Object.keys(customOf(attributes))).toHaveLength(50);
    expect(logger.lines.map(({ fields }) => fields?.["reason"])).toEqual(["It has more than 50 files."]);
  });
});

describe("parseOsRelease", () => {
  it("reads quotes, escapes and comments", () => {
    const text =
      '# comment\nA=plain\nB="two words"\nC=\'single\'\nD="say \\"hi\\""\nbroken\nE=\nF=half\rG=\n';
    expect(parseOsRelease(text)).toEqual({ A: "plain", B: "two words", C: "single", D: 'say "hi"', E: "" });
  });
});

function collect(
  machine: Record<string, string>,
  owned: Record<string, string> = {},
): { attributes: Attributes; logger: RecordingLogger } {
  const root = temporaryFolder();
  const stateDir = temporaryFolder();
  write(root, machine);
  write(join(stateDir, "attributes.d"), owned);
  if (machine["usr/share/zoneinfo/Europe/Berlin"] !== undefined) {
    symlinkSync("/usr/share/zoneinfo/Europe/Berlin", join(root, "etc/localtime"));
  }
  const logger = new RecordingLogger();
  const added = new CustomAttributes({ stateDir, host: new MemoryHost(), logger });
  const custom = added.read(added.list());
  return { attributes: collectAttributes({ root, agentVersion: "1.2.3", custom }), logger };
}

function write(folder: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

function customOf(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([key]) => key.startsWith("custom.")));
}
