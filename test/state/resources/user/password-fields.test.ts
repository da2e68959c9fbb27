/** What stood in the field of a password comes back, whatever it was and whatever was declared in its place. */
import { expect, test } from "vitest";
import { memoryMachine } from "../../../support/machine/memory-machine.ts";
import { declare, StateFixture } from "../../../support/state-fixture.ts";

const { signal } = new AbortController();
const [hash, otherHash] = ["$6$salt$correct/horse.battery", "$6$salt$staple"];
const user = (more: object) => declare([{ id: "u", type: "user", name: "deploy", ...more }]);

/** An empty field lets anybody in, where the machine allows it. */
const fields = ["", "!", "!!", "*", "!*", hash, `!${hash}`, `!!${hash}`];
const declared = [
  [{ locked: true }],
  [{ locked: false }],
  [{ password_hash: otherHash }],
  [{ password_hash: "*" }],
  [{ password_hash: otherHash, locked: true }],
  [{ locked: true }, { password_hash: otherHash, locked: false }],
  [{ locked: false }, { ensure: "absent" }],
  [{ ensure: "absent" }],
];

const fieldOf = (state: StateFixture): string | undefined =>
  /^deploy:([^:]*):/m.exec(state.read("/etc/shadow"))?.[1];

/** Whether a password opens the account, and which: marks beside each other lock no more than one does. */
const plain = (field: string | undefined): string | undefined => field?.replace(/^!+/, "!");

test.each(fields.flatMap((field) => declared.map((versions) => [field, versions] as const)))(
  "the field %j comes back after %j",
  async (field, versions) => {
    const state = new StateFixture(memoryMachine());
    await state.host.run({ argv: ["useradd", "-M", "deploy"] }, signal);
    state.write("/etc/shadow", state.read("/etc/shadow").replace(/^deploy:[^:]*:/m, `deploy:${field}:`));
    for (const version of versions)
      expect((await state.run("apply", user(version))).status).toBe("succeeded");
    expect((await state.run("apply", [])).status).toBe("succeeded");
    expect([plain(fieldOf(state)), state.applied]).toEqual([plain(field), []]);
  },
);
