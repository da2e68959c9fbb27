/** How commits that come at once share their writes, in what order, and what a failed write means for each. */
import { describe, expect, it } from "vitest";
import { CommitPump, type CommitTarget } from "../../../lib/storage/file/commit-pump.ts";
import type { Staging } from "../../../lib/storage/staging.ts";
import type { CommitOptions } from "../../../lib/storage/storage.ts";
import { StoredText } from "../../../lib/storage/stored-text.ts";
import type { Effect } from "../../../lib/storage/writes.ts";

/** Notes the batches that it is given. */
class Target implements CommitTarget {
  readonly batches: { keys: string[]; reserve: boolean }[] = [];
  readonly applied: string[] = [];
  /** What the next write fails with. */
  failure: Error | null = null;

  revisionOf(): number {
    return 0;
  }
  headOf() {
    return { sequence: 0, hash: null };
  }
  baseOf() {
    return { sequence: 0, hash: null };
  }
  write(effects: readonly Effect[], { reserve = false }: CommitOptions): Promise<void> {
    const { failure } = this;
    this.failure = null;
    if (failure) return Promise.reject(failure);
    this.batches.push({ keys: keysOf(effects), reserve });
    return Promise.resolve();
  }
  apply(effects: readonly Effect[]): void {
    this.applied.push(...keysOf(effects));
  }
  afterBatch(): Promise<void> {
    return Promise.resolve();
  }
}

const keysOf = (effects: readonly Effect[]): string[] =>
  effects.map((effect) => (effect.kind === "put" ? effect.document.key : ""));

function submit(
  pump: CommitPump,
  key: string,
  { chars = 1, ...options }: CommitOptions & { chars?: number } = {},
) {
  const document = new StoredText(key, 1, JSON.stringify("x".repeat(chars)));
  const decide = (batch: Staging): string => {
    batch.effects.push({ kind: "put", collection: "things", document });
    return key;
  };
  return pump.submit(() => decide, options);
}

const sizes = ({ batches }: Target): number[] => batches.map(({ keys }) => keys.length);
const range = (count: number): string[] => Array.from({ length: count }, (_, at) => `k${at}`);

describe("commits that come at once", () => {
  it("are one write, in their order, up to the number that one may hold", async () => {
    const target = new Target();
    const pump = new CommitPump(target);
    const keys = range(2 * 2_048 + 1);
    expect(await Promise.all(keys.map((key) => submit(pump, key)))).toEqual(keys);
    expect(sizes(target)).toEqual([2_048, 2_048, 1]);
    expect(target.batches.flatMap((batch) => batch.keys)).toEqual(keys);
    expect(target.applied).toEqual(keys);
  });

  it("are several writes where they are large, each of one commit at least", async () => {
    const target = new Target();
    const pump = new CommitPump(target);
    const chars = 3 * 1_024 * 1_024;
    await Promise.all(range(5).map((key) => submit(pump, key, { chars })));
    expect(sizes(target)).toEqual([2, 2, 1]);
  });

  it("are several where they are many and together large", async () => {
    const target = new Target();
    const pump = new CommitPump(target);
    await Promise.all(range(100).map((key) => submit(pump, key, { chars: 100_000 })));
    expect(sizes(target)).toEqual([42, 42, 16]);
  });

  it("share no write where only some may use the reserve", async () => {
    const target = new Target();
    const pump = new CommitPump(target);
    const reserves = [false, true, true, false];
    await Promise.all(reserves.map((reserve, at) => submit(pump, `k${at}`, { reserve })));
    expect(target.batches).toEqual([
      { keys: ["k0"], reserve: false },
      { keys: ["k1", "k2"], reserve: true },
      { keys: ["k3"], reserve: false },
    ]);
  });
});

describe("a write that fails", () => {
  it("rejects all that share it, takes nothing into memory, and the next commits go on", async () => {
    const target = new Target();
    const pump = new CommitPump(target);
    target.failure = new Error("full");
    const [one, two] = await Promise.allSettled([submit(pump, "a"), submit(pump, "b")]);
    expect([one, two]).toMatchObject([{ reason: { message: "full" } }, { reason: { message: "full" } }]);
    expect(target.applied).toEqual([]);
    expect(await submit(pump, "c")).toBe("c");
    expect(target.applied).toEqual(["c"]);
  });

  it("has the next commit of nothing write too, and once it works none does", async () => {
    const target = new Target();
    const pump = new CommitPump(target);
    const nothing = (): Promise<string> => pump.submit(() => () => "done");
    await nothing();
    expect(target.batches).toEqual([]);
    target.failure = new Error("full");
    await expect(submit(pump, "a")).rejects.toThrow("full");
    target.failure = new Error("still full");
    await expect(nothing()).rejects.toThrow("still full");
    await nothing();
    await nothing();
    expect(sizes(target)).toEqual([0]);
  });
});

it("a decision that throws rejects alone", async () => {
  const target = new Target();
  const pump = new CommitPump(target);
  const refused = pump.submit(() => () => {
    throw new Error("taken");
  });
  const [one, two, three] = await Promise.allSettled([submit(pump, "a"), refused, submit(pump, "b")]);
  expect([one, two, three]).toMatchObject([{ value: "a" }, { reason: { message: "taken" } }, { value: "b" }]);
  expect(target.applied).toEqual(["a", "b"]);
});

it("is idle when nothing waits and nothing is being written, and at once where nothing was", async () => {
  const target = new Target();
  const pump = new CommitPump(target);
  await pump.idle();
  const done = submit(pump, "a");
  await Promise.all([pump.idle(), pump.idle()]);
  expect(target.applied).toEqual(["a"]);
  await done;
});
