/** What tests that change a machine rely on: nothing of a throwaway machine gets out of it, nor outlives it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { expect, test } from "vitest";
import { text } from "../laws.ts";
import { describeOnRealMachine } from "./real-machine.ts";
import { sourceFolder, ThrowawayMachine } from "./throwaway-machine.ts";

const mounts = (): string => readFileSync("/proc/self/mounts", "utf8");
const processExists = (pid: number): boolean => existsSync(`/proc/${pid}`);

describeOnRealMachine("a throwaway machine", { programs: ["unshare", "nsenter"], namespaces: true }, () => {
  test("keeps files, mounts, name and kernel settings to itself, also when it is restarted", async () => {
    const [before, name] = [mounts(), hostname()];
    await using machine = await ThrowawayMachine.boot();
    machine.host.files.writeFile("/etc/fleetwright-test", text("a"), { mode: 0o600 });
    machine.output("hostname", "other");
    machine.output("mount", "-t", "tmpfs", "tmpfs", "/mnt");
    expect(machine.exitCode("sysctl", "-q", "-w", "kernel.sysrq=0")).not.toBe(0);
    expect(machine.exitCode("touch", `${sourceFolder}/a`)).not.toBe(0);
    await machine.restart();
    expect(Buffer.from(machine.host.files.readFile("/etc/fleetwright-test")).toString()).toBe("a");
    expect(existsSync("/etc/fleetwright-test")).toBe(false);
    expect([mounts(), hostname()]).toEqual([before, name]);
  });

  test("its host runs programs, ends them when told, and tells errors as any host does", async () => {
    await using machine = await ThrowawayMachine.boot();
    const { host } = machine;
    const run = (...argv: [string, ...string[]]) => host.run({ argv }, new AbortController().signal);
    expect(await run("sh", "-c", "echo out; exit 3")).toMatchObject({ exitCode: 3, stdout: "out\n" });
    const aborted = new AbortController();
    const sleeping = host.run({ argv: ["sleep", "600"] }, aborted.signal);
    aborted.abort();
    expect(await sleeping).toMatchObject({ signal: "SIGTERM" });
    await expect(run("/nonexistent")).rejects.toMatchObject({ code: "HOST_ERROR" });
    expect(() => host.files.readFile("/nonexistent")).toThrow(
      expect.objectContaining({ code: "HOST_ERROR" }),
    );
    const below = host.files.below("/etc");
    expect([below.stat("/etc/hostname")?.kind, host.users.userName(0)]).toEqual(["file", "root"]);
  });

  test("ends with the process that booted it, however that ends", async () => {
    const booting = `
      const { ThrowawayMachine } = await import(${JSON.stringify(new URL("throwaway-machine.ts", import.meta.url).href)});
      const machine = await ThrowawayMachine.boot();
      console.log(machine.enter[2]);
    `;
    const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", booting], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [said] = (await once(child.stdout, "data")) as [Buffer];
    const pid = Number(said.toString());
    expect(processExists(pid)).toBe(true);
    const group = readFileSync(`/proc/${pid}/cgroup`, "utf8")
      .split("\n")
      .find((line) => line.startsWith("0::"));
    expect(group).toMatch(/\/fleetwright-\d+$/);
    child.kill("SIGKILL");
    await once(child, "close");
    await expect.poll(() => processExists(pid), { timeout: 30_000 }).toBe(false);
  });
});
