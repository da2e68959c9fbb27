import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import { resolveResource } from "../../../lib/state/definition.ts";
import { parseSystemctlShow, toServiceState, toUnit } from "../../../lib/state/resources/service/systemd.ts";
import { describeLaws } from "../../support/laws.ts";
import { ServiceMachine } from "../../support/machine/services.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const inits = ["systemd", "sysvinit", "openrc"] as const;

for (const init of inits) {
  let machine: ServiceMachine;
  const createHost = (): ServiceMachine["host"] => {
    machine = new ServiceMachine(init);
    machine.add("nginx");
    machine.add("telnetd", { running: true });
    return machine.host;
  };
  const observe = (): JsonObject =>
    Object.fromEntries([...machine.services].map(([name, state]) => [name, { ...state }]));
  const set = (name: string, more: object): void =>
    void Object.assign(machine.services.get(name) ?? {}, more);
  describeLaws(
    {
      "a service that runs": {
        definition: { type: "service", name: "nginx", running: true, enabled: true },
        breakIt: () => set("nginx", { running: false }),
        observe,
      },
      "a service that does not run": {
        definition: { type: "service", name: "telnetd", running: false },
        breakIt: () => set("telnetd", { running: true }),
        observe,
      },
      ...(init === "systemd" && {
        "a service that nobody can start": {
          definition: { type: "service", name: "telnetd", masked: true, running: false },
          breakIt: () => set("telnetd", { masked: false }),
          observe,
        },
      }),
    },
    { [`with ${init}`]: createHost },
  );
}

const conf = (content: string): JsonObject => ({ id: "conf", type: "file", path: "/work/conf", content });

describe.each(inits)("a service on a machine with %s", (init) => {
  test("follows the changes of others: reload, restart, and restart where both would", async () => {
    const machine = new ServiceMachine(init);
    machine.add("nginx", { running: true });
    const state = new StateFixture(machine.host);
    const nginx = { id: "s", type: "service", name: "nginx", running: true };
    const apply = async (...definitions: JsonObject[]) =>
      (await state.run("apply", declare(definitions))).results.at(-1);
    expect(await apply(conf("1"), { ...nginx, reload_on: ["conf"] })).toMatchObject({ action: "reload" });
    expect(await apply(conf("1"), { ...nginx, reload_on: ["conf"] })).toMatchObject({ outcome: "unchanged" });
    expect(await apply(conf("2"), { ...nginx, restart_on: ["conf"] })).toMatchObject({ action: "restart" });
    expect(await apply(conf("3"), { ...nginx, reload_on: ["conf"], restart_on: ["conf"] })).toMatchObject({
      action: "restart",
    });
    expect(machine.commands).toEqual(["reload nginx", "restart nginx", "restart nginx"]);
  });

  test("that is not there any more is let go, whatever it was before", async () => {
    const machine = new ServiceMachine(init);
    machine.add("telnetd", { running: true, enabled: true });
    const state = new StateFixture(machine.host);
    const telnetd = { id: "s", type: "service", name: "telnetd", running: false, enabled: false };
    await state.run("apply", declare([telnetd]));
    // Its package was purged.
    machine.services.delete("telnetd");
    const script = "/etc/init.d/telnetd";
    if (machine.host.files.stat(script)) machine.host.files.removeFile(script);
    const { status } = await state.run("apply", []);
    expect([status, state.applied]).toEqual(["succeeded", []]);
  });

  test("is started and not restarted where it did not run", async () => {
    const machine = new ServiceMachine(init);
    machine.add("nginx");
    const state = new StateFixture(machine.host);
    const nginx = { id: "s", type: "service", name: "nginx", running: true, restart_on: ["conf"] };
    const { status } = await state.run("apply", declare([conf("1"), nginx]));
    expect([status, machine.commands]).toEqual(["succeeded", ["start nginx"]]);
  });

  test("that runs is restarted also where it did not start with the machine until then", async () => {
    const machine = new ServiceMachine(init);
    machine.add("nginx", { running: true });
    const state = new StateFixture(machine.host);
    const nginx = { id: "s", type: "service", name: "nginx", running: true, enabled: true };
    const { status } = await state.run("apply", declare([conf("1"), { ...nginx, restart_on: ["conf"] }]));
    expect([status, machine.commands.at(-1)]).toEqual(["succeeded", "restart nginx"]);
    expect(machine.services.get("nginx")).toMatchObject({ running: true, enabled: true });
  });

  test("that is not known is a difference to a drift check, and can't be started, as the plan says", async () => {
    const machine = new ServiceMachine(init);
    const state = new StateFixture(machine.host);
    const wanted = declare([{ id: "s", type: "service", name: "nginx", running: true }]);
    const changes = [{ property: "running", before: null, after: true }];
    expect((await state.run("check", wanted)).results[0]).toMatchObject({ outcome: "would_change", changes });
    for (const mode of ["plan", "apply"] as const) {
      const { results } = await state.run(mode, wanted);
      const message = 'There is no service "nginx".';
      expect(results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR", message, changes });
    }
    expect(machine.commands).toEqual([]);
  });

  test("that is not known does not run, so nothing is to do to stop it", async () => {
    const state = new StateFixture(new ServiceMachine(init).host);
    const wanted = declare([{ id: "s", type: "service", name: "telnetd", running: false, enabled: false }]);
    expect((await state.run("apply", wanted)).results[0]?.outcome).toBe("unchanged");
  });
});

test("systemd reads its files again before a service is acted on, where it says so", async () => {
  const machine = new ServiceMachine("systemd");
  machine.add("nginx", { stale: true });
  const state = new StateFixture(machine.host);
  await state.run("apply", declare([{ type: "service", name: "nginx", running: true, enabled: true }]));
  expect(machine.commands).toEqual(["daemon-reload", "enable nginx", "start nginx"]);
});

test("a masked service is unmasked before it is started", async () => {
  const machine = new ServiceMachine("systemd");
  machine.add("nginx", { masked: true });
  const state = new StateFixture(machine.host);
  const { status } = await state.run(
    "apply",
    declare([{ type: "service", name: "nginx", masked: false, running: true }]),
  );
  expect([status, machine.commands]).toEqual(["succeeded", ["unmask nginx", "start nginx"]]);
});

test("a service that ended while it was masked runs again when it is not masked any more", async () => {
  const machine = new ServiceMachine("systemd");
  machine.add("nginx", { running: true });
  const state = new StateFixture(machine.host);
  await state.run("apply", declare([{ type: "service", name: "nginx", masked: true }]));
  machine.services.get("nginx")!.running = false;
  expect((await state.run("apply", [])).status).toBe("succeeded");
  expect(machine.commands).toEqual(["mask nginx", "unmask nginx", "start nginx"]);
});

test.each<[string, object]>([
  ["is masked", { masked: true }],
  ["is stopped and masked", { masked: true, running: false }],
])(
  "a service that %s loses its mask, and is let go, where its package was purged since",
  async (_how, more) => {
    const machine = new ServiceMachine("systemd");
    machine.add("nginx", { running: true, enabled: true });
    const state = new StateFixture(machine.host);
    await state.run("apply", declare([{ type: "service", name: "nginx", ...more }]));
    Object.assign(machine.services.get("nginx")!, { running: false, purged: true });
    machine.commands.length = 0;
    const { status } = await state.run("apply", []);
    expect([status, state.applied, machine.commands]).toEqual(["succeeded", [], ["unmask nginx"]]);
  },
);

test("what a mask hid is told before it is changed", async () => {
  const machine = new ServiceMachine("systemd");
  machine.add("nginx", { masked: true, enabled: true });
  const state = new StateFixture(machine.host);
  const wanted = declare([{ type: "service", name: "nginx", masked: false, enabled: false }]);
  const first = await state.run("apply", wanted);
  expect(first.results[0]?.message).toBe("It was applied and still differs in: enabled.");
  const plan = await state.run("plan", wanted);
  expect(plan.results[0]?.changes).toEqual([{ property: "enabled", before: true, after: false }]);
  expect((await state.run("apply", wanted)).status).toBe("succeeded");
  expect(machine.commands).toEqual(["unmask nginx", "disable nginx"]);
});

test.each<[wanted: object, expected: string]>([
  [{ masked: true }, "would_change"],
  [{ masked: true, running: false }, "would_change"],
  [{ masked: true, enabled: false }, "would_change"],
  [{ running: false }, "unchanged"],
  [{ enabled: false, running: false }, "unchanged"],
  [{ masked: false }, "unchanged"],
  [{ running: true }, "failed"],
  [{ enabled: true }, "failed"],
  [{ masked: false, enabled: true }, "failed"],
])("of a service that the machine does not know, a plan of %j is %s", async (wanted, expected) => {
  const machine = new ServiceMachine("systemd");
  const state = new StateFixture(machine.host);
  const { results } = await state.run("plan", declare([{ type: "service", name: "ghost", ...wanted }]));
  expect(results.map(({ outcome }) => outcome)).toEqual([expected]);
});

test.each<[name: string, instance: string | null]>([
  ["web@", "web@1"],
  ["web@.service", "web@1.service"],
  ["backup@.timer", "backup@1.timer"],
  ["log@.socket", "log@1.socket"],
  ["web@1", null],
  ["web@.1.service", null],
  ["backup@daily.timer", null],
  ["web", null],
])("a template is no service: that of %s is %j", async (name, instance) => {
  const machine = new ServiceMachine("systemd");
  const state = new StateFixture(machine.host);
  const { results } = await state.run("plan", declare([{ type: "service", name, running: false }]));
  expect(results[0]?.message ?? "").toBe(
    instance === null ? "" : `${name} is a template: name an instance of it, such as "${instance}".`,
  );
});

test("a mask that ends with the next start of the machine is taken away too", async () => {
  const machine = new ServiceMachine("systemd");
  machine.add("nginx", { masked: true, maskedUntilRestart: true });
  const state = new StateFixture(machine.host);
  const wanted = declare([{ type: "service", name: "nginx", masked: false, running: true }]);
  expect((await state.run("apply", wanted)).status).toBe("succeeded");
});

test("a service is stopped before it is disabled, and comes back, also by a name that it has while it is enabled", async () => {
  const machine = new ServiceMachine("systemd");
  machine.add("ssh", { running: true, enabled: true, alias: "sshd" });
  const state = new StateFixture(machine.host);
  const wanted = declare([{ type: "service", name: "sshd", running: false, enabled: false }]);
  expect((await state.run("apply", wanted)).status).toBe("succeeded");
  expect((await state.run("apply", wanted)).results[0]?.outcome).toBe("unchanged");
  expect((await state.run("apply", [])).status).toBe("succeeded");
  expect(machine.commands).toEqual(["stop sshd", "disable sshd", "enable ssh", "start ssh"]);
});

test("a unit whose file is elsewhere stays known when it is disabled", async () => {
  const machine = new ServiceMachine("systemd");
  machine.add("site", { enabled: true, linkedTo: "/srv/site.service" });
  machine.host.files.makeSymlink("/etc/systemd/system/site.service", "/srv/site.service");
  const state = new StateFixture(machine.host);
  const { status } = await state.run("apply", declare([{ type: "service", name: "site", enabled: false }]));
  expect([status, machine.commands]).toEqual(["succeeded", ["disable site", "link /srv/site"]]);
  expect(machine.host.files.readLink("/etc/systemd/system/site.service")).toBe("/srv/site.service");
});

test("what a later version declares beside the first comes back too", async () => {
  const machine = new ServiceMachine("systemd");
  machine.add("nginx");
  const state = new StateFixture(machine.host);
  const wanted = (more: object) =>
    declare([{ id: "s", type: "service", name: "nginx", running: true, ...more }]);
  await state.run("apply", wanted({}));
  await state.run("apply", wanted({ enabled: true }));
  await state.run("apply", []);
  expect(machine.commands).toEqual(["start nginx", "enable nginx", "stop nginx", "disable nginx"]);
});

test("OpenRC's programs make a folder on any machine; the one that it started has more in it", async () => {
  const machine = new ServiceMachine("openrc");
  machine.host.files.removeFile("/run/openrc/softlevel");
  machine.add("nginx");
  const state = new StateFixture(machine.host);
  const { results } = await state.run("plan", declare([{ type: "service", name: "nginx", running: true }]));
  // It has scripts below /etc/init.d all the same.
  expect(results[0]).toMatchObject({ code: "HOST_ERROR", message: expect.stringContaining("service") });
});

test("what can't be enabled is an error and not a guess", async () => {
  const machine = new ServiceMachine("systemd");
  machine.add("dbus", { fixed: true, running: true });
  const state = new StateFixture(machine.host);
  const plan = await state.run("plan", declare([{ type: "service", name: "dbus", enabled: true }]));
  expect(plan.results[0]).toMatchObject({
    code: "HOST_ERROR",
    message: "dbus can't be enabled by itself: systemd calls it static.",
  });
});

test("masking is an error where the init system knows no such thing, and a machine without one is told", async () => {
  const plan = async (machine: ServiceMachine, more: JsonObject) =>
    (await new StateFixture(machine.host).run("plan", declare([{ type: "service", name: "a", ...more }])))
      .results[0];
  expect(await plan(new ServiceMachine("sysvinit"), { masked: true })).toMatchObject({
    message: "sysvinit can't mask services.",
  });
  const bare = new StateFixture();
  const { results } = await bare.run("plan", declare([{ type: "service", name: "a", running: true }]));
  expect(results[0]).toMatchObject({ message: "This machine has no init system that is known here." });
});

// As recorded of systemd 252.
test.each<[string, string, object]>([
  [
    "running",
    "Id=a.service\nLoadState=loaded\nActiveState=active\nFragmentPath=/lib/systemd/system/a.service\nUnitFileState=enabled\nNeedDaemonReload=no\n",
    { running: true, enabled: true, masked: false },
  ],
  [
    "failed",
    "Id=a.service\nLoadState=loaded\nActiveState=failed\nFragmentPath=/lib/systemd/system/a.service\nUnitFileState=disabled\nNeedDaemonReload=yes\n",
    { running: false, enabled: false, masked: false },
  ],
  [
    "on its way up again",
    "Id=a.service\nLoadState=loaded\nActiveState=activating\nFragmentPath=/lib/systemd/system/a.service\nUnitFileState=enabled\nNeedDaemonReload=no\n",
    { running: false, enabled: true, masked: false },
  ],
  [
    "masked",
    "Id=a.service\nLoadState=masked\nActiveState=inactive\nFragmentPath=/etc/systemd/system/a.service\nUnitFileState=masked\nNeedDaemonReload=no\n",
    { running: false, enabled: false, masked: true },
  ],
  [
    "masked until the next start of the machine, and runs",
    "Id=a.service\nLoadState=masked\nActiveState=active\nFragmentPath=/run/systemd/system/a.service\nUnitFileState=masked-runtime\nNeedDaemonReload=no\n",
    { running: true, enabled: false, masked: true },
  ],
  [
    "not known",
    "Id=a.service\nLoadState=not-found\nActiveState=inactive\nFragmentPath=\nUnitFileState=\nNeedDaemonReload=no\n",
    { running: null, enabled: null, masked: false },
  ],
  [
    "not to be understood",
    "Id=a.service\nLoadState=bad-setting\nActiveState=inactive\nFragmentPath=/lib/systemd/system/a.service\nUnitFileState=static\nNeedDaemonReload=no\n",
    { running: false, enabled: false, masked: false, fixed: "systemd calls it static" },
  ],
  [
    "static",
    "Id=a.service\nLoadState=loaded\nActiveState=active\nFragmentPath=/lib/systemd/system/a.service\nUnitFileState=static\nNeedDaemonReload=no\n",
    { running: true, enabled: false, masked: false, fixed: "systemd calls it static" },
  ],
])("systemctl show of a unit that is %s", (_what, stdout, expected) => {
  expect(toServiceState(parseSystemctlShow(stdout))).toEqual(expected);
});

test.each([
  ["web", "web"],
  ["web.service", "web"],
  ["web.service.timer", "web.service.timer"],
  ["web.services", "web.services"],
  ["web.service-sync", "web.service-sync"],
  ["web.socket", "web.socket"],
  ["web@1.service", "web@1"],
])("%s is known as %s", (name, identity) => {
  const [resource] = declare([{ type: "service", name, running: true }]);
  expect(resource?.identity).toBe(identity);
});

test("a name without a kind is a service", () => {
  expect(["nginx", "getty@tty1", "backup.timer", "php8.2-fpm"].map(toUnit)).toEqual([
    "nginx.service",
    "getty@tty1.service",
    "backup.timer",
    "php8.2-fpm.service",
  ]);
});

test.each<[string, JsonObject]>([
  ["a name that would be an option", { name: "--now", running: true }],
  ["a path", { name: "../../bin/sh", running: true }],
  ["nothing to do", { name: "a" }],
  ["masked and running", { name: "a", masked: true, running: true }],
  ["a trigger without running", { name: "a", enabled: true, reload_on: ["conf"] }],
  ["a trigger to stop", { name: "a", running: false, restart_on: ["conf"] }],
])("%s is a fault", (_what, properties) => {
  expect(resolveResource({ type: "service", ...properties }, { module: "m" }).ok).toBe(false);
});
