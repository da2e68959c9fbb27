/** What a plan of a whole fleet costs somebody at the command line: it depends on what there is to tell, not on how many agents there are. */
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { ResourceResult } from "fleetwright";
import { createKeyFile } from "fleetwright/client/node";
import { runIn } from "../support/command-line.ts";
import { createScene, type SceneAgent } from "../support/rollout-scene.ts";
import { emptyResult } from "../support/scripted-agent.ts";
import { serve } from "../support/server.ts";
import { isSoak } from "../support/soak.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const agents = isSoak ? 5_000 : 300;
const resources = 25;

/** What the plan of an agent says: three sorts of changes, and for most agents none. */
function resultsOf(at: number): ResourceResult[] {
  const sort = at % 100 === 0 ? 1 : at % 10 === 1 ? 2 : at % 4 === 2 ? 3 : 0;
  return Array.from({ length: resources }, (_, n): ResourceResult => {
    const changes = [
      { property: "content", before: "old", after: `${sort}`, diff: `-old\n+${sort}\n`.repeat(20) },
    ];
    return {
      resource_id: `file-${n}`,
      module: "motd",
      type: "file",
      identity: `/etc/app/file-${n}.conf`,
      outcome: sort === 0 ? "unchanged" : "would_change",
      action: sort === 0 ? "none" : "update",
      changes: sort === 0 ? [] : changes,
      caused_by: [],
      attempts: 0,
      duration_ms: at % 7,
    };
  });
}

async function answer({ agent }: SceneAgent, at: number): Promise<void> {
  const { operation_id } = await agent.next("plan");
  agent.link.send({ ...emptyResult(operation_id), results: resultsOf(at) });
}

/** Counts what answers cost from now on. */
function countAnswers(): { requests: number; bytes: number } {
  const counted = { requests: 0, bytes: 0 };
  const { fetch } = globalThis;
  onTestFinished(() => void (globalThis.fetch = fetch));
  globalThis.fetch = async (...args) => {
    counted.requests += 1;
    const response = await fetch(...args);
    counted.bytes += (await response.clone().arrayBuffer()).byteLength;
    return response;
  };
  return counted;
}

it("is told in under 20 requests and 200 kB where the agents fall into four groups", async () => {
  const folder = temporaryFolder();
  const key = join(folder, "admin-key");
  const { publicKey } = createKeyFile(key);
  await using scene = await createScene(agents, () => ({}), { adminPublicKeys: [publicKey] });
  await using server = await serve(scene.test.orchestrator);
  const url = `http://127.0.0.1:${server.port}`;
  expect(await runIn(folder, ["login", "--key", key], url)).toMatchObject({ code: 0 });
  const answers = Promise.all(scene.agents.map(answer));
  const counted = countAnswers();
  const begunAt = performance.now();
  const { code, stdout } = await runIn(folder, ["assignments", "plan", "all"], url);
  const seconds = ((performance.now() - begunAt) / 1000).toFixed(1);
  await answers;
  expect(code).toBe(3);
  const lines = stdout.split("\n").length - 1;
  console.info(
    `A plan of ${agents} agents: ${counted.requests} requests, ${counted.bytes} bytes, ${lines} lines, ${seconds} s.`,
  );
  expect(stdout.match(/^\d+ the same: .*: plan succeeded/gm)).toHaveLength(4);
  expect(stdout).toContain(`all: plan succeeded on ${agents} of ${agents} agents\n`);
  expect(counted.requests).toBeLessThan(20);
  expect(counted.bytes).toBeLessThan(200_000);
  expect(scene.test.loggedErrors).toEqual([]);
}, 280_000);
