import { describe, expect, test } from "vitest";
import { describeLaws } from "../../support/laws.ts";
import { memoryMachine, observeAccounts } from "../../support/machine/memory-machine.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";
import type { Host } from "../../../lib/host/host.ts";

const { signal } = new AbortController();
const run = async (host: Host, argv: [string, ...string[]], stdin?: string): Promise<void> => {
  await host.run({ argv, ...(stdin !== undefined && { stdin }) }, signal);
};
const hosts = { "in memory": memoryMachine };
const observe = observeAccounts;
const hash = "$6$salt$correct/horse.battery";
const otherHash = "$6$salt$staple";

describeLaws(
  {
    "a new user with everything": {
      definition: {
        type: "user",
        name: "deploy",
        uid: 2000,
        group: "users",
        groups: ["staff"],
        home: "/work/deploy",
        create_home: true,
        remove_home: true,
        shell: "/bin/bash",
        comment: "Deployment",
        password_hash: hash,
        expires: "2027-01-31",
      },
      breakIt: (host) => run(host, ["usermod", "-s", "/bin/false", "-G", "", "-e", "", "deploy"]),
      observe,
      secret: "correct/horse",
    },
    "a user with other properties": {
      definition: {
        type: "user",
        name: "deploy",
        groups: ["staff"],
        membership: "inclusive",
        shell: "/bin/bash",
        password_hash: hash,
        locked: true,
      },
      prepare: async (host) => {
        await run(host, ["useradd", "-G", "users", "deploy"]);
        await run(host, ["chpasswd", "-e"], `deploy:${otherHash}`);
      },
      breakIt: (host) => run(host, ["chpasswd", "-e"], `deploy:${hash}`),
      observe,
    },
    "a user that is not wanted": {
      definition: { type: "user", name: "deploy", ensure: "absent" },
      prepare: async (host) => {
        await run(host, ["useradd", "-M", "-G", "users,staff", "-c", "Old", "-e", "20999", "deploy"]);
        await run(host, ["chpasswd", "-e"], `deploy:${otherHash}`);
      },
      breakIt: (host) => run(host, ["useradd", "-M", "deploy"]),
      observe,
    },
    "a user whose group stands already": {
      definition: { type: "user", name: "staff", create_home: false },
      breakIt: async (host) => {
        await run(host, ["gpasswd", "-M", "root", "staff"]);
        await run(host, ["userdel", "staff"]);
        await run(host, ["gpasswd", "-M", "", "staff"]);
      },
      observe,
    },
  },
  hosts,
);

const user = (more: object = {}) => declare([{ id: "u", type: "user", name: "deploy", ...more }]);

/** A machine with a user whose password field is this. */
async function withPassword(field: string): Promise<StateFixture> {
  const state = new StateFixture(memoryMachine());
  await run(state.host, ["useradd", "deploy"]);
  await run(state.host, ["chpasswd", "-e"], `deploy:${field}`);
  return state;
}

describe("the password", () => {
  test("is in no result, though the resource is not sensitive", async () => {
    const state = await withPassword(otherHash);
    const results = [
      await state.run("plan", user({ password_hash: hash })),
      await state.run("apply", user({ password_hash: hash })),
      await state.run("plan", user({ password_hash: otherHash })),
    ];
    expect(results[0]?.results[0]?.changes).toEqual([
      { property: "password_hash", before: "(sensitive)", after: "(sensitive)", sensitive: true },
    ]);
    expect(JSON.stringify(results.map((each) => each.results))).not.toContain("$6$");
    expect(state.read("/etc/shadow")).toContain(`deploy:${hash}:`);
  });

  test("is on no command line", async () => {
    const seen: string[] = [];
    const state = new StateFixture(memoryMachine());
    const { host } = state;
    const watched: Host = Object.create(host, {
      run: {
        value: (command: Parameters<Host["run"]>[0], given: AbortSignal) => {
          seen.push(JSON.stringify([command.argv, command.environment]));
          return host.run(command, given);
        },
      },
    }) as Host;
    await state.run("apply", user({ password_hash: hash }), { host: watched });
    expect(seen).toHaveLength(2);
    expect(seen.join()).not.toContain("$6$");
  });

  test.each<[string, string, object, string]>([
    ["is set", "!", { password_hash: hash }, hash],
    ["is set and stays locked", `!${otherHash}`, { password_hash: hash }, `!${hash}`],
    ["is locked", hash, { locked: true }, `!${hash}`],
    ["is unlocked", `!${hash}`, { locked: false }, hash],
    ["is set and unlocked", `!!${otherHash}`, { password_hash: hash, locked: false }, hash],
    ["that is not there has nothing to unlock", "!", { locked: false }, "!"],
    ["that is not there is locked already", "!", { locked: true }, "!"],
    ["that no password fits stays so", "*", { password_hash: "*" }, "*"],
  ])("%s", async (_name, before, more, after) => {
    const state = await withPassword(before);
    expect((await state.run("apply", user(more))).status).toBe("succeeded");
    expect(state.read("/etc/shadow")).toContain(`deploy:${after}:`);
    expect(outcomes(await state.run("apply", user(more)))).toEqual(["u unchanged"]);
  });

  test("that was changed by its owner does not come back for the sake of another property", async () => {
    const state = await withPassword(otherHash);
    await state.run("apply", user({ shell: "/bin/bash" }));
    await run(state.host, ["chpasswd", "-e"], `deploy:${hash}`);
    await state.run("apply", []);
    expect(state.read("/etc/shadow")).toContain(`deploy:${hash}:`);
    expect(state.read("/etc/passwd")).toContain("/home/deploy:/bin/sh\n");
  });

  test.each(["hunter2", "", "!", "$6$a:b", "$6$a\nroot:x"])("%j is no hash", (password_hash) => {
    expect(() => user({ password_hash })).toThrow();
  });
});

describe("a removal", () => {
  test("leaves the home that we made, unless it was asked to go", async () => {
    const state = new StateFixture(memoryMachine());
    await state.run("apply", user());
    await state.run("apply", []);
    expect(state.host.files.stat("/home/deploy")?.kind).toBe("directory");
    expect(state.read("/etc/passwd")).not.toContain("deploy");
  });

  test("takes away the home that we made where that was asked", async () => {
    const state = new StateFixture(memoryMachine());
    await state.run("apply", user({ remove_home: true }));
    expect(state.host.files.stat("/home/deploy")?.kind).toBe("directory");
    await state.run("apply", []);
    expect(state.host.files.stat("/home/deploy")).toBeNull();
  });

  test.each(["/home/deploy", "/home/old"])(
    "leaves the home %s that stood there before, whatever was asked",
    async (home) => {
      const state = new StateFixture(memoryMachine());
      state.host.files.makeDirectory(home, {});
      const more = home === "/home/deploy" ? {} : { home };
      await state.run("apply", user({ ...more, remove_home: true }));
      await state.run("apply", []);
      expect(state.host.files.stat(home)?.kind).toBe("directory");
    },
  );

  test("of a home that is a folder of the system is refused", async () => {
    const state = new StateFixture(memoryMachine());
    await run(state.host, ["useradd", "-M", "-d", "/home", "deploy"]);
    expect(
      (await state.run("apply", user({ ensure: "absent", remove_home: true }))).results[0],
    ).toMatchObject({
      code: "HOST_ERROR",
      message: "The home of deploy is /home, which is never removed.",
    });
    expect(state.read("/etc/passwd")).toContain("deploy");
  });

  test("leaves the group of the same name that another resource declares", async () => {
    const state = new StateFixture(memoryMachine());
    const groupOnly = declare([{ id: "g", type: "group", name: "deploy", gid: 2222 }]);
    await state.run("apply", [...groupOnly, ...user({ group: "deploy" })]);
    await state.run("apply", groupOnly);
    expect(state.read("/etc/passwd")).not.toContain("deploy");
    expect(state.read("/etc/group")).toContain("deploy:x:2222:\n");
  });
});

test("a file can belong to a user of the same run, which is a change in its plan", async () => {
  const desired = declare([
    { id: "u", type: "user", name: "deploy", uid: 2000 },
    { id: "f", type: "file", path: "/home/f", content: "x", owner: "deploy", group: "deploy" },
    { id: "d", type: "directory", path: "/home", owner: "deploy" },
  ]);
  const state = new StateFixture(memoryMachine());
  const plan = await state.run("plan", desired);
  expect(outcomes(plan)).toEqual(["u would_change", "f would_change", "d would_change"]);
  const apply = await state.run("apply", desired);
  expect(outcomes(apply)).toEqual(["u changed", "f changed", "d changed"]);
  expect(apply.results.map(({ changes }) => changes)).toEqual(plan.results.map(({ changes }) => changes));
  expect(state.host.files.stat("/home/f")?.uid).toBe(2000);
});

test.each([
  { name: "-r" },
  { name: "a b" },
  { shell: "bash" },
  { home: "/a:b" },
  { comment: "a:b" },
  { comment: "a\nb" },
  { expires: "tomorrow" },
  { groups: ["-r"] },
  { group: "-r" },
  { uid: -1 },
  { password: "x" },
])("%j is a fault", (more) => {
  expect(() => user(more)).toThrow();
});
