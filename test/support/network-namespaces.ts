/** Networks of a test's own: machines that hear nobody but each other. */
import { execFileSync } from "node:child_process";
import { expect, onTestFinished, vi } from "vitest";

/** A machine on such a network. */
export interface NetworkMachine {
  address: string;
  /** Its interface. */
  interface: string;
  /** Resolves when its IPv6 address of the link can be used, after about 2 s; to `false` where it gets none. */
  hasIPv6: () => Promise<boolean>;
  /** Runs a program there: what stands before it. */
  within: readonly string[];
}

/** Why no network can be made here; null where it can. */
export function reasonNoNetwork(): string | null {
  if (process.getuid?.() !== 0) return "only root may make networks";
  const name = `fw${process.pid}t`;
  try {
    ip("netns", "add", name);
    ip("netns", "delete", name);
    return null;
  } catch (error) {
    return String((error as { stderr?: Buffer }).stderr ?? error).trim();
  }
}

/** Two machines with one cable between them, until the test ends. */
export function joinTwoMachines(): [NetworkMachine, NetworkMachine] {
  const names = ["a", "b"].map((end) => `fw${process.pid}${end}`);
  const [first = "", second = ""] = names;
  onTestFinished(() => {
    for (const name of names) ip("netns", "delete", name);
  });
  for (const name of names) ip("netns", "add", name);
  ip("link", "add", first, "netns", first, "type", "veth", "peer", "name", second, "netns", second);
  const machines = names.map((name, at): NetworkMachine => {
    const address = `10.77.0.${at + 1}`;
    ip("-n", name, "link", "set", "lo", "up");
    ip("-n", name, "address", "add", `${address}/24`, "broadcast", "+", "dev", name);
    ip("-n", name, "link", "set", name, "up");
    const hasIPv6 = async (): Promise<boolean> => {
      const addresses = (): string => ip("-n", name, "-6", "address", "show", "dev", name, "scope", "link");
      // Duplicate address detection (RFC 4862, 5.4): until it is done, the address can't be used.
      await vi.waitFor(() => expect(addresses()).not.toContain("tentative"), { timeout: 30_000 });
      return addresses().includes("fe80:");
    };
    return { address, interface: name, hasIPv6, within: ["ip", "netns", "exec", name] };
  });
  return machines as [NetworkMachine, NetworkMachine];
}

function ip(...args: string[]): string {
  return execFileSync("ip", args, { stdio: "pipe", encoding: "utf8" });
}
