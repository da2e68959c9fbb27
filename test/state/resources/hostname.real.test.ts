/** The kernel's name for real, in a namespace of its own and on a machine with systemd: this machine keeps its name. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { describeLaws } from "../../support/laws.ts";
import { describeOnThrowawayMachine } from "../../support/machine/on-throwaway-machine.ts";
import { describeOnRealMachine, output } from "../../support/machine/real-machine.ts";
import { RealState } from "../../support/machine/real-state.ts";

/** Keeps a namespace open; gives the words that put a program into it. */
async function createNamespace(): Promise<[string, ...string[]]> {
  const holding = ["--uts", "sh", "-c", "echo ready; exec sleep 600"];
  const holder = spawn("unshare", holding, { stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(async () => {
    holder.kill();
    await once(holder, "close");
  });
  await once(holder.stdout, "data");
  return ["nsenter", `--uts=/proc/${holder.pid}/ns/uts`, "--"];
}

describeOnRealMachine("hostname", { programs: ["unshare", "nsenter", "hostname"] }, () => {
  test("the kernel has the new name, then the old one again", async () => {
    const enter = await createNamespace();
    using state = new RealState({ rootFolders: ["etc"], enter });
    const wanted = [{ id: "h", type: "hostname", name: "fleetwright-test" }];
    const inside = (): string => output(enter[0], ...enter.slice(1), "hostname").trim();

    const before = hostname();
    expect(inside()).toBe(before);
    expect(await state.apply(wanted)).toEqual(["h changed update"]);
    expect(inside()).toBe("fleetwright-test");
    expect(readFileSync(join(state.root, "etc/hostname"), "utf8")).toBe("fleetwright-test\n");
    expect(await state.apply(wanted)).toEqual(["h unchanged none"]);
    expect(await state.apply([])).toEqual(["h changed remove"]);
    expect(inside()).toBe(before);
    expect(hostname()).toBe(before);
  });
});

describeOnThrowawayMachine(
  "hostname, with systemd",
  { paths: ["/lib/systemd/systemd"], programs: ["hostnamectl"], machine: { init: "systemd" } },
  (machine) => {
    const names = (): string[] =>
      ["--static", "--transient"].map((which) => machine().output("hostnamectl", which).trim());
    describeLaws(
      {
        "the name of a machine": {
          definition: { type: "hostname", name: "web-1.example.org" },
          prepare: () => void machine().output("hostnamectl", "hostname", "old"),
          breakIt: () => void machine().output("hostnamectl", "hostname", "other"),
          observe: names,
        },
      },
      { "on a machine with systemd": () => machine().host },
    );

    test("hostnamectl tells the new name, and after a power cut too", async () => {
      using state = new RealState({ host: machine().host });
      await state.apply([{ type: "hostname", name: "web-2" }]);
      expect(names()).toEqual(["web-2", "web-2"]);
      await machine().restart();
      expect(names()).toEqual(["web-2", "web-2"]);
      using after = new RealState({ host: machine().host });
      expect(await after.apply([{ id: "h", type: "hostname", name: "web-2" }])).toEqual(["h unchanged none"]);
    });
  },
);
