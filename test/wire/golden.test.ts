/**
 * The protocol of version 1, byte for byte, as it was first written: an agent of today must understand an orchestrator
 * of then, and the other way round. A file that is missing is written when FLEETWRIGHT_WRITE_GOLDEN=1; none is ever changed.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { fromHex, toHex } from "../../lib/crypto/encoding.ts";
import { agentMessageSchema, orchestratorMessageSchema } from "../../lib/wire/messages.ts";
import {
  agentExamples,
  orchestratorExamples,
  plannedApplyExample,
  streamExample,
} from "./support/examples.ts";
import { establish } from "./support/peers.ts";

interface Recorded {
  message: unknown;
  frames: string[];
}

const folder = new URL("./golden/v1/", import.meta.url);
const exporter = new Uint8Array(32).fill(9);
const plain = establish();
const bound = establish({ agent: { tlsExporter: exporter }, orchestrator: { tlsExporter: exporter } });
const hexOf = (frame: string | Uint8Array): string => (typeof frame === "string" ? frame : toHex(frame));

/** Compares with the golden file, which must be there. */
function golden(name: string, made: object): void {
  const path = new URL(`${name}.json`, folder);
  if (!existsSync(path) && process.env["FLEETWRIGHT_WRITE_GOLDEN"] === "1") {
    writeFileSync(path, `${JSON.stringify(made, null, 2)}\n`);
  }
  expect(made).toEqual(JSON.parse(readFileSync(path, "utf8")));
}

function handshakeOf({ frames }: typeof plain): object {
  return Object.fromEntries(Object.entries(frames).map(([name, frame]) => [name, hexOf(frame)]));
}

describe("version 1", () => {
  test("the handshake without TLS", () => golden("handshake", handshakeOf(plain)));
  test("the handshake bound to a TLS connection", () => golden("handshake-bound", handshakeOf(bound)));

  // Each is the first frame of a connection of its own: a type that is added later moves no counter.
  test.each(orchestratorExamples)("the command $type", (message) => {
    const { agent, orchestrator } = establish();
    const frames = orchestrator.encode(message);
    golden(`orchestrator-${message.type}`, { message, frames: frames.map(hexOf) });
    expect(frames.map((frame) => agent.decode(frame))).toEqual([{ kind: "message", message }]);
  });
  test("the command apply, of a plan", () => {
    const { agent, orchestrator } = establish();
    const frames = orchestrator.encode(plannedApplyExample);
    golden("orchestrator-apply-of-a-plan", { message: plannedApplyExample, frames: frames.map(hexOf) });
    expect(frames.map((frame) => agent.decode(frame))).toEqual([
      { kind: "message", message: plannedApplyExample },
    ]);
  });
  test.each(agentExamples)("the agent's message $type", (message) => {
    const { agent, orchestrator } = establish();
    const frames = agent.encode(message);
    golden(`agent-${message.type}`, { message, frames: frames.map(hexOf) });
    expect(frames.map((frame) => orchestrator.decode(frame))).toEqual([{ kind: "message", message }]);
  });
  test("a stream and a ping", () => {
    const { agent, orchestrator } = establish();
    const stream = agent.encodeStream(streamExample.streamId, streamExample.data);
    const ping = agent.encodePing();
    golden("frames", { stream_id: streamExample.streamId, stream: hexOf(stream), ping: hexOf(ping) });
    expect(orchestrator.decode(stream)).toEqual({ kind: "stream", ...streamExample });
    expect(orchestrator.decode(ping)).toEqual({ kind: "ping" });
  });

  test("every type of message has an example", () => {
    const typesOf = (options: readonly { shape: { type: { value: string } } }[]): string[] =>
      options.map((option) => option.shape.type.value).sort();
    expect(orchestratorExamples.map(({ type }) => type).sort()).toEqual(
      typesOf(orchestratorMessageSchema.options),
    );
    expect(agentExamples.map(({ type }) => type).sort()).toEqual(typesOf(agentMessageSchema.options));
  });

  test.each(readdirSync(folder).filter((file) => /^(agent|orchestrator)-/.test(file)))(
    "%s is read as it was meant",
    (file) => {
      const recorded = JSON.parse(readFileSync(new URL(file, folder), "utf8")) as Recorded;
      const { agent, orchestrator } = establish();
      const reader = file.startsWith("agent-") ? orchestrator : agent;
      const read = recorded.frames.map((frame) => reader.decode(fromHex(frame) ?? ""));
      expect(read).toEqual([{ kind: "message", message: recorded.message }]);
    },
  );
});
