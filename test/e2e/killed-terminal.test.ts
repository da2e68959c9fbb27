/** A terminal of which one side is killed: what the list, the transcript and the audit log say, and that a changed transcript is noticed. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import type { Client } from "fleetwright/client";
import { attachTerminal, type TerminalMessage, type TerminalSocket } from "../../adapters/client/terminal.ts";
import { processAt } from "../../lib/host/process-table.ts";
import {
  eventually,
  startAgentProcess,
  startFleetMember,
  startServerProcess,
  type ServerProcess,
} from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A terminal that has shown something, with a program in the background that has left its session. */
async function openTerminal({ client, url }: ServerProcess, nodeId: string) {
  const opened = await client.terminals.open(nodeId, { shell: "/bin/sh", reason: "to be killed" });
  let shown = "";
  const messages: TerminalMessage[] = [];
  let isOver = false;
  const terminal = attachTerminal(url, opened, {
    connect: (address, protocol) => new WebSocket(address, protocol) as unknown as TerminalSocket,
    output: (bytes) => void (shown += Buffer.from(bytes).toString()),
    message: (message) => messages.push(message),
    ended: () => (isOver = true),
  });
  onTestFinished(() => terminal.leave());
  terminal.type(
    Buffer.from(
      "PS1=; setsid sh -c 'echo pid-$$-; exec sleep 1000' & sleep 0.2; seq 1 2000; echo seen-$((40+2))\n",
    ),
  );
  await eventually("it has shown something", () => shown.includes("seen-42\r\n"));
  const pid = Number(/pid-(\d+)-/.exec(shown)?.[1]);
  expect(isRunning(pid)).toBe(true);
  return {
    sessionId: opened.session_id,
    messages,
    pid,
    shown: () => shown,
    over: () => eventually("the connection is over", () => isOver),
    bytes: () => terminal.offset,
  };
}

const isRunning = (pid: number): boolean => processAt(pid)?.isZombie === false;

async function transcriptOf(client: Client, sessionId: string, format?: "text"): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of await client.terminals.transcript(sessionId, format ? { format } : {}))
    pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

/** All output that stands in an asciicast. */
const outputIn = (cast: string): string =>
  cast
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => JSON.parse(line) as [number, string, string])
    .map(([, kind, text]) => (kind === "o" ? text : ""))
    .join("");

/** The file of a recording. */
function recordingIn(dataDir: string, sessionId: string): string {
  const names = readdirSync(dataDir, { recursive: true, encoding: "utf8" });
  return join(
    dataDir,
    names.find((name) => name.includes(`terminal-${sessionId}`) && name.endsWith(".blob"))!,
  );
}

/** As docs/terminals.md says it is made. */
function hashOf(bytes: Buffer): string {
  const sha256 = (content: Uint8Array): Buffer => createHash("sha256").update(content).digest();
  const hashes: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 1_048_576)
    hashes.push(sha256(bytes.subarray(at, at + 1_048_576)));
  return sha256(Buffer.concat(hashes)).toString("hex");
}

describe("a terminal", () => {
  it("of a server that is killed is interrupted, with all that was seen, and one that is changed then is refused", async () => {
    const folder = temporaryFolder();
    const dataDir = join(folder, "data");
    await using server = await startServerProcess(dataDir);
    await using agent = await startFleetMember(join(folder, "web-1"), server);
    const { sessionId, pid, shown, bytes, over, messages } = await openTerminal(server, agent.nodeId);

    await server.program.end("SIGKILL");
    await over();
    expect(messages.map(({ type }) => type)).not.toContain("closed");
    await eventually("nothing is left on the machine", () => !isRunning(pid));
    const port = Number(new URL(server.url).port);
    await using back = await startServerProcess(dataDir, port);

    const [terminal] = (await back.client.terminals.list({ status: "interrupted" })).items;
    expect(terminal).toMatchObject({
      session_id: sessionId,
      close_reason: "server_lost",
      recording: "partial",
      viewers: 0,
      bytes: bytes(),
    });
    expect(outputIn(await transcriptOf(back.client, sessionId))).toBe(shown());
    expect(await transcriptOf(back.client, sessionId, "text")).toContain("\n2000\n");
    const file = recordingIn(dataDir, sessionId);
    const recorded = readFileSync(file);
    const { items } = await back.client.audit.list({ event_type: "terminal.interrupted" });
    expect(items).toMatchObject([
      { metadata: { session_id: sessionId, reason: "server_lost", recording_hash: hashOf(recorded) } },
    ]);
    expect(terminal?.recording_hash).toBe(hashOf(recorded));
    expect(await back.client.audit.verify()).toMatchObject({ valid: true });
    await back.program.end();

    writeFileSync(file, recorded.toString().replace("seen-42", "seen-43"));
    await using changed = await startServerProcess(dataDir, port);
    for (const format of [undefined, "text"] as const)
      await expect(transcriptOf(changed.client, sessionId, format)).rejects.toMatchObject({
        code: "STORAGE_CORRUPT",
      });
    expect((await changed.client.terminals.get(sessionId)).recording_hash).toBe(hashOf(recorded));
  }, 180_000);

  it("of an agent that is killed is interrupted at once, and its programs are ended when it is back", async () => {
    const folder = temporaryFolder();
    const dataDir = join(folder, "data");
    await using server = await startServerProcess(dataDir);
    await using agent = await startFleetMember(join(folder, "web-1"), server);
    const { sessionId, pid, shown, bytes, over, messages } = await openTerminal(server, agent.nodeId);

    await agent.program.end("SIGKILL");
    await over();
    expect(messages.at(-1)).toEqual({ type: "closed", status: "interrupted", reason: "agent_lost" });
    expect(await server.client.terminals.get(sessionId)).toMatchObject({
      status: "interrupted",
      close_reason: "agent_lost",
      recording: "partial",
      bytes: bytes(),
    });
    expect(outputIn(await transcriptOf(server.client, sessionId))).toBe(shown());
    const { items } = await server.client.audit.list({ event_type: "terminal.interrupted" });
    const recorded = readFileSync(recordingIn(dataDir, sessionId));
    expect(items).toMatchObject([
      { metadata: { session_id: sessionId, reason: "agent_lost", recording_hash: hashOf(recorded) } },
    ]);
    expect(isRunning(pid)).toBe(true);
    await using _ = await startAgentProcess(join(folder, "web-1"), server.url);
    await eventually("nothing is left on the machine", () => !isRunning(pid));
  }, 180_000);
});
