/**
 * What an agent says costs the orchestrator time in proportion to its bytes, and next to nothing where it may not speak or nobody listens.
 * Before, one frame of 1 MiB of an agent that nobody had approved stopped everything for 10 s, one message of 13 MiB for minutes.
 */
import { describe, expect, test } from "vitest";
import { systemClock, toTimestamp } from "../../lib/clock.ts";
import { toUtf8 } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { silentLogger } from "../../lib/logger.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import type { Admission, TransportHandlers } from "../../lib/transport/transport.ts";
import { frameMessage } from "../../lib/wire/framing.ts";
import { cpuMs } from "../support/cpu-time.ts";
import { hostileMessages } from "../support/hostile-messages.ts";

const mib = 1024 * 1024;
/** What a machine that is slow, or under load, makes of at most 40 ms. */
const longestStallMs = 100;

interface Attack {
  status: Admission["status"];
  text: string;
  /** One frame of the whole text, which no honest agent sends above 256 KiB. */
  isWhole?: boolean;
  handlers?: Partial<TransportHandlers>;
  /** How long the end of it is waited for, milliseconds. Default: longer than any machine takes. */
  patienceMs?: number;
}

/** Has an agent say something over the real protocol; tells how it ended, and the longest time for which nothing else ran. */
async function attack({
  status,
  text,
  isWhole = false,
  handlers = {},
  patienceMs = 30_000,
}: Attack): Promise<{ end: string; stallMs: number; opened: number }> {
  const transport = new MemoryTransport();
  let opened = 0;
  let tellEnd: (end: string) => void = () => {};
  const end = new Promise<string>((resolve) => (tellEnd = resolve));
  const counting = {
    ...nodeCrypto,
    open: (...input: Parameters<typeof nodeCrypto.open>) => ((opened += 1), nodeCrypto.open(...input)),
  };
  await transport.start(
    {
      clock: systemClock,
      crypto: counting,
      logger: silentLogger,
      signer: nodeCrypto.createSigner(new Uint8Array(32).fill(9)),
      orchestratorTime: () => toTimestamp(systemClock.now()),
    },
    {
      admit: async () => ({ status }),
      connected: async () => {},
      message: async () => tellEnd("handled"),
      stream: async () => {},
      disconnected: () => {},
      refused: ({ code }) => tellEnd(code),
      ...handlers,
    },
  );
  let raw: Uint8Array | null = null;
  const sealing = {
    ...nodeCrypto,
    seal: (key: Uint8Array, nonce: Uint8Array, plain: Uint8Array) =>
      nodeCrypto.seal(key, nonce, raw ?? plain),
  };
  const agent = new TestAgent(transport.connect(), { crypto: sealing, seed: new Uint8Array(32).fill(1) });
  await agent.join();
  const frameOf = (kind: number, payload: Uint8Array): Uint8Array => {
    const plain = new Uint8Array(payload.length + 1);
    plain[0] = kind;
    plain.set(payload, 1);
    raw = plain;
    const frame = agent.session.encodePing();
    raw = null;
    return frame;
  };
  const bytes = toUtf8(text);
  const frames = (isWhole ? [{ kind: 1, payload: bytes }] : frameMessage(bytes)).map(({ kind, payload }) =>
    frameOf(kind, payload),
  );
  opened = 0;
  const stalls = watchStalls();
  for (const frame of frames) {
    agent.socket.send(frame);
    await nextTurn();
  }
  const said = await Promise.race([end, nothingIn(patienceMs)]);
  const stallMs = await stalls.stop();
  await transport.stop();
  return { end: said, stallMs, opened };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function nothingIn(ms: number): Promise<string> {
  return new Promise((resolve) => setTimeout(() => resolve("nothing"), ms).unref());
}

/** Measures the longest time between two turns of the event loop, in milliseconds of the processor. */
function watchStalls(): { stop(): Promise<number> } {
  let longest = 0;
  let last = cpuMs();
  let isOn = true;
  const turn = (): void => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
    if (isOn) setImmediate(turn);
  };
  setImmediate(turn);
  return {
    async stop() {
      await nextTurn();
      await nextTurn();
      isOn = false;
      return longest;
    },
  };
}

const rows = Object.entries(hostileMessages);

describe("an agent that is not approved", () => {
  test.each(rows)("is refused unopened when it sends %s", async (_, make) => {
    const text = make(0.9 * mib).slice(0, mib - 100);
    const { end, stallMs, opened } = await attack({ status: "pending", text, isWhole: true });
    expect(end).toBe("PROTOCOL_ERROR");
    expect(opened).toBe(0);
    expect(stallMs).toBeLessThan(longestStallMs);
  });

  test("is refused unread when it sends something as short as a ping", async () => {
    const { end, opened } = await attack({ status: "pending", text: "" });
    expect([end, opened]).toEqual(["PROTOCOL_ERROR", 1]);
  });
});

describe("an approved agent", () => {
  test.each(rows)("stalls nobody with %s", async (_, make) => {
    const small = await attack({ status: "approved", text: make(0.98 * mib) });
    const text = make(15.9 * mib).slice(0, 16 * mib);
    const large = await attack({ status: "approved", text });
    for (const { end } of [small, large]) expect(["PROTOCOL_ERROR", "handled"]).toContain(end);
    // The machine may have been busy with something else: then another time tells.
    let { stallMs } = large;
    for (let more = 0; more < 4 && stallMs > longestStallMs / 2; more += 1)
      stallMs = Math.min(stallMs, (await attack({ status: "approved", text })).stallMs);
    expect(stallMs).toBeLessThan(longestStallMs);
    // Sixteen times the bytes, and what a machine under load adds.
    expect(stallMs).toBeLessThan(Math.max(small.stallMs, 10) * 16 * 2);
  });

  test("is not read where nobody wants what it says", async () => {
    const asked: unknown[] = [];
    const text = '{"type":"metrics","samples":[{"no":"sample"}],"gap":"no"}';
    const isWanted = async (_: string, head: unknown) => (asked.push(head), false);
    const { end } = await attack({ status: "approved", text, handlers: { isWanted }, patienceMs: 500 });
    expect(end).toBe("nothing");
    expect(asked).toEqual([{ type: "metrics", operationId: null }]);
    expect((await attack({ status: "approved", text })).end).toBe("PROTOCOL_ERROR");
  });

  test("is refused with a message in one frame that must come in pieces", async () => {
    const text = `{"type":"metrics","samples":[],"gap":false${" ".repeat(300 * 1024)}}`;
    expect((await attack({ status: "approved", text })).end).toBe("handled");
    expect((await attack({ status: "approved", text, isWhole: true })).end).toBe("PROTOCOL_ERROR");
  });

  test.each([
    ["in other letters", '{"t\\u0079pe":"log","level":"info","message":"x"}'],
    ["twice, in two forms", '{"type":"metrics","t\\u0079pe":"log","level":"info","message":"x"}'],
    [
      "of two operations",
      `{"type":"output","operation_id":"01890000-0000-7000-8000-000000000001","operation_\\u0069d":"01890000-0000-7000-8000-000000000002","output":[]}`,
    ],
  ])("is refused where it says what it is %s", async (_, text) => {
    expect((await attack({ status: "approved", text })).end).toBe("PROTOCOL_ERROR");
  });
});
