import { existsSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startFleetMember, startServerProcess } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const module = `name: web
resources:
  - { type: directory, path: /srv }
  - { id: page, type: file, path: /srv/index.html, content: "hello\\n", mode: "0644" }
  - { id: link, type: symlink, path: /srv/current, target: index.html }
  - { id: reload, type: script, run: "echo reloaded >> srv/reloads", run_on: [page] }
`;

it("brings a machine to its desired state, keeps it there and takes back what is not desired any more", async () => {
  const folder = temporaryFolder();
  await using server = await startServerProcess(join(folder, "data"));
  const { client } = server;
  await using agent = await startFleetMember(join(folder, "web-1"), server);
  const page = join(agent.root, "srv/index.html");

  await client.tags.set(agent.nodeId, { key: "role", value: "web" });
  await client.modules.upload({ content: module });
  await client.assignments.create({ name: "web", selector: "role=web", modules: ["web"] });

  const plan = await client.assignments.plan("web");
  expect(plan).toMatchObject({ status: "succeeded", matched: 1 });
  expect(existsSync(page)).toBe(false);

  const apply = await client.assignments.apply("web");
  expect(apply).toMatchObject({ status: "succeeded", matched: 1 });
  const [planned, applied] = await Promise.all(
    [plan, apply].map((run) => client.operations.get(run.operations[0]?.operation_id ?? "")),
  );
  expect(planned?.counts).toMatchObject({ total: 4, would_change: 4 });
  expect(applied?.counts).toMatchObject({ total: 4, changed: 4 });
  expect(readFileSync(page, "utf8")).toBe("hello\n");
  expect(readlinkSync(join(agent.root, "srv/current"))).toBe("index.html");

  const again = await client.state.apply(agent.nodeId);
  expect(again).toMatchObject({ status: "succeeded", counts: { unchanged: 4, changed: 0 } });
  expect(readFileSync(join(agent.root, "srv/reloads"), "utf8")).toBe("reloaded\n");

  writeFileSync(page, "broken\n");
  const drift = await client.drift.check(agent.nodeId);
  expect(drift).toMatchObject({ status: "drifted", counts: { would_change: 1 } });
  expect(drift.resources.filter(({ outcome }) => outcome === "would_change")).toMatchObject([
    { identity: "/srv/index.html", action: "update" },
  ]);
  expect(readFileSync(page, "utf8")).toBe("broken\n");

  const repair = await client.state.apply(agent.nodeId);
  expect(repair).toMatchObject({ status: "succeeded", counts: { changed: 2 } });
  expect(readFileSync(page, "utf8")).toBe("hello\n");
  expect(await client.drift.check(agent.nodeId)).toMatchObject({ status: "in_sync" });

  await client.modules.upload({ content: module.replace(/^ {2}- \{ id: link.*\n/m, "") });
  const removal = await client.state.apply(agent.nodeId);
  expect(removal).toMatchObject({ status: "succeeded", counts: { changed: 1, removed: 1 } });
  expect(existsSync(join(agent.root, "srv/current"))).toBe(false);
  expect(readFileSync(page, "utf8")).toBe("hello\n");

  expect(await client.audit.verify()).toMatchObject({ valid: true });
  expect(await agent.program.end()).toBe(0);
  expect(await server.program.end("SIGINT")).toBe(0);
});
