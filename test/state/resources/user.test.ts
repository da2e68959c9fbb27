import { describe, expect, test } from "vitest";
import type { Host } from "../../../lib/host/host.ts";
import { describeLaws } from "../../support/laws.ts";
import { memoryMachine, observeAccounts } from "../../support/machine/memory-machine.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

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

describe("what the account tables tell", () => {
  const other = { id: "o", type: "user", name: "other", uid: 2000 };
  test.each<[string, object, string]>([
    ["a number that another user has", { uid: 2000 }, "The number 2000 belongs to the user other."],
    ["a primary group that is not there", { group: "none" }, 'There is no group "none".'],
    ["a number of a primary group that is not there", { group: "4711" }, 'There is no group "4711".'],
    ["a group that is not there", { groups: ["users", "none"] }, 'There is no group "none".'],
    [
      "the home of another user",
      { home: "/home/other" },
      "/home/other is the home of other; to share it, give create_home: false.",
    ],
  ])("%s is refused by a plan and by an apply, and nothing is made", async (_what, more, message) => {
    const state = new StateFixture(memoryMachine());
    await run(state.host, ["useradd", "-u", "2000", "-m", "other"]);
    state.host.files.setAttributes("/home/other", { uid: 2000, gid: 1000 });
    const before = observe(state.host);
    for (const mode of ["plan", "apply"] as const) {
      const { results } = await state.run(mode, user(more));
      expect(results[0], mode).toMatchObject({ outcome: "failed", code: "HOST_ERROR", message });
    }
    expect(observe(state.host)).toEqual(before);
  });

  test("is refused of a user who is there, too", async () => {
    const state = new StateFixture(memoryMachine());
    await run(state.host, ["useradd", "deploy"]);
    for (const more of [{ uid: 0 }, { group: "none" }, { groups: ["none"] }])
      for (const mode of ["plan", "apply"] as const)
        expect((await state.run(mode, user(more))).results[0]).toMatchObject({ code: "HOST_ERROR" });
  });

  test("is foreseen: what the same run makes or gives up is there", async () => {
    const state = new StateFixture(memoryMachine());
    await run(state.host, ["useradd", "-u", "2000", "other"]);
    const desired = [
      ...declare([{ ...other, uid: 2001 }]),
      ...declare([{ id: "g", type: "group", name: "crew" }]),
      ...user({ uid: 2000, groups: ["crew"], group: "users" }),
    ];
    expect(outcomes(await state.run("plan", desired))).toEqual(
      Array(3).fill(expect.stringMatching(/would_/)),
    );
    expect(outcomes(await state.run("apply", desired))).toEqual(["o changed", "g changed", "u changed"]);
  });

  test.each(["/home/deploy", "/home/deploy/sub"])(
    "of a home that holds %s keeps it from being removed",
    async (home) => {
      const state = new StateFixture(memoryMachine());
      await run(state.host, ["useradd", "-m", "deploy"]);
      await run(state.host, ["useradd", "-M", "-d", home, "guest"]);
      for (const mode of ["plan", "apply"] as const)
        expect(
          (await state.run(mode, user({ ensure: "absent", remove_home: true }))).results[0],
        ).toMatchObject({
          code: "HOST_ERROR",
          message: "The home of deploy, /home/deploy, holds that of guest: it is not removed.",
        });
      expect(state.host.files.stat("/home/deploy")?.kind).toBe("directory");
    },
  );

  test.each(["x".repeat(33), `${"x".repeat(32)}$`])("%s is longer than a name may be", (name) => {
    expect(() => declare([{ type: "user", name }])).toThrow();
  });
});

describe("the ages of a password", () => {
  const shadow = `deploy:${otherHash}:19000:1:90:14:30::`;
  async function aged(): Promise<StateFixture> {
    const state = new StateFixture(memoryMachine());
    await run(state.host, ["useradd", "deploy"]);
    const lines = state.read("/etc/shadow").replace(/^deploy:.*$/m, shadow);
    state.host.files.writeFile("/etc/shadow", Buffer.from(lines), {});
    return state;
  }

  test.each<[string, object]>([
    ["a user who goes", { ensure: "absent" }],
    ["another password", { password_hash: hash }],
    ["another password and a lock", { password_hash: hash, locked: true }],
    ["a lock", { locked: true }],
    ["a day of expiry", { expires: "2031-05-17" }],
  ])("come back on the removal of %s", async (_what, more) => {
    const state = await aged();
    await state.run("apply", user(more));
    expect(state.read("/etc/shadow")).not.toContain(`${shadow}\n`);
    await state.run("apply", []);
    expect(state.read("/etc/shadow")).toContain(`${shadow}\n`);
    expect(outcomes(await state.run("apply", []))).toEqual([]);
  });

  test("stay where it is only locked, and begin anew with a new one", async () => {
    const state = await aged();
    await state.run("apply", user({ locked: true }));
    expect(state.read("/etc/shadow")).toContain(`deploy:!${otherHash}:19000:1:90:14:30::`);
    await state.run("apply", user({ password_hash: hash, locked: false }));
    expect(state.read("/etc/shadow")).toContain(`deploy:${hash}:20500:1:90:14:30::`);
  });

  test("a removal of a lock keeps the password that its owner has set meanwhile", async () => {
    const state = await aged();
    await state.run("apply", user({ locked: true }));
    await run(state.host, ["chpasswd", "-e"], `deploy:!${hash}`);
    await state.run("apply", []);
    expect(state.read("/etc/shadow")).toContain(`deploy:${hash}:20500:`);
  });
});

test.each([
  ["", "never"],
  ["0", "1970-01-01"],
  ["1", "1970-01-02"],
  ["20590", "2026-05-17"],
])(
  "an account that expires on day %j does so on %s, and again when another day is taken back",
  async (day, date) => {
    const state = new StateFixture(memoryMachine());
    await run(state.host, ["useradd", "deploy"]);
    const shadow = `deploy:${otherHash}:19000:0:99999:7::${day}:`;
    state.write("/etc/shadow", state.read("/etc/shadow").replace(/^deploy:.*$/m, shadow));
    expect(outcomes(await state.run("apply", user({ expires: date })))).toEqual(["u unchanged"]);
    const other = date === "never" ? "2031-05-17" : "never";
    const { results } = await state.run("apply", user({ expires: other }));
    expect(results[0]?.changes).toEqual([{ property: "expires", before: date, after: other }]);
    await state.run("apply", []);
    expect(state.read("/etc/shadow")).toContain(`${shadow}\n`);
  },
);

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

test("a user who can't be taken away leaves his group without root in it", async () => {
  const host = memoryMachine();
  const state = new StateFixture(host);
  await run(host, ["groupadd", "deploy"]);
  await state.run("apply", user({ create_home: false }));
  const before = state.read("/etc/group");
  const stays = new Map([
    ["userdel", { exitCode: 8, stderr: "userdel: user deploy is currently used by process 1" }],
  ]);
  const busy: Host = Object.create(host, {
    run: {
      value: async (...[command, stop]: Parameters<Host["run"]>) => {
        const refusal = stays.get(command.argv[0]);
        return { ...(await host.run(refusal ? { argv: ["chage", "root"] } : command, stop)), ...refusal };
      },
    },
  }) as Host;
  const removed = await state.run("apply", [], { host: busy });
  expect(removed.results[0]).toMatchObject({ outcome: "failed", code: "COMMAND_FAILED" });
  expect(state.read("/etc/group")).toBe(before);
  await state.run("apply", []);
  expect(state.read("/etc/group")).toBe(before);
});
