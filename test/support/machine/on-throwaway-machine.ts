/** Tests on a machine that is booted for them and thrown away. */
import { afterAll, beforeAll } from "vitest";
import { describeOnRealMachine, type RealMachineNeeds } from "./real-machine.ts";
import { ThrowawayMachine, type ThrowawayMachineOptions } from "./throwaway-machine.ts";

/** What the tests need, and the machine to boot. */
export type OnThrowawayMachine = RealMachineNeeds & { machine?: ThrowawayMachineOptions };

/**
 * Declares tests that may do what they like to a copy of this machine; `machine` answers in hooks and tests. Where they can't
 * be run the reason is printed and they are skipped.
 */
export function describeOnThrowawayMachine(
  name: string,
  { machine: options, ...needs }: OnThrowawayMachine,
  tests: (machine: () => ThrowawayMachine) => void,
): void {
  const programs = ["unshare", "nsenter", "setpriv", "mkfifo", ...(needs.programs ?? [])];
  describeOnRealMachine(name, { ...needs, programs, namespaces: true }, () => {
    let booted: ThrowawayMachine | undefined;
    beforeAll(async () => void (booted = await ThrowawayMachine.boot(options)));
    afterAll(() => booted?.[Symbol.asyncDispose]());
    tests(() => {
      if (!booted) throw new Error("The machine is booted before the first test.");
      return booted;
    });
  });
}
