/** Ctrl-C while the command line waits for what a machine does. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { endOf, eventually, Program, startFleetMember, startServerProcess } from "../support/processes.ts";
import { openSilentPath } from "../support/silent-path.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("Ctrl-C ends a command that waits, and says how to follow and how to end what goes on", async () => {
  const folder = temporaryFolder();
  const hosts = { FLEETWRIGHT_ALLOWED_HOSTS: "127.0.0.1" };
  await using server = await startServerProcess(join(folder, "data"), 0, hosts);
  await using _ = await startFleetMember(join(folder, "agent"), server);
  await using path = await openSilentPath(Number(new URL(server.url).port));
  const environment = { HOME: join(folder, "home"), FLEETWRIGHT_URL: `http://127.0.0.1:${path.port}` };
  await using login = new Program(["login", "--key", join(folder, "data", "admin-key")], environment);
  expect(await login.exited()).toBe(0);
  const [begun, goOn] = [join(folder, "begun"), join(folder, "go-on")];
  const script = `touch ${begun}; while [ ! -e ${goOn} ]; do sleep 0.05; done`;
  const content = JSON.stringify({
    name: "slow",
    resources: [{ id: "wait", type: "script", check: `test -e ${goOn}`, run: script }],
  });
  await server.client.modules.upload({ content });
  await server.client.assignments.create({ name: "slow", selector: "*", modules: ["slow"] });

  await using apply = new Program(["apply", "web-1", "--json"], environment);
  await eventually("it runs", () => existsSync(begun));
  const [operation] = (await server.client.operations.list()).items;
  const id = operation!.operation_id;
  // The machine may be at it before the command line has heard which operation it is.
  await eventually("it is waited for", () => path.heard().includes(`/operations/${id}`));
  const noticeOf = (kind: string, its: string): string =>
    `\nThe ${kind} goes on. Follow it: fleetwright ${kind}s watch ${its}; end it: fleetwright ${kind}s cancel ${its}\n`;
  // It dies of the signal: a loop in a shell ends with it.
  expect(await apply.end("SIGINT")).toBeNull();
  expect(apply.stderr).toBe(noticeOf("operation", id));

  await using attach = new Program(["operations", "attach", id], environment);
  await attach.says(/web-1: apply/);
  expect(await attach.end("SIGINT")).toBeNull();
  expect(attach.stderr).toBe(noticeOf("operation", id));

  const { rollout_id } = await server.client.assignments.apply("slow", { wait_seconds: 0 });
  await using watch = new Program(["rollouts", "watch", rollout_id], environment);
  await eventually("it watches", () => watch.stderr.includes("slow: running"));
  expect(await watch.end("SIGINT")).toBeNull();
  expect(watch.stderr).toContain(noticeOf("rollout", rollout_id));

  writeFileSync(goOn, "");
  expect((await endOf(server.client, id)).status).toBe("succeeded");
});
