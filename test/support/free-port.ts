import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

// Below those that the system gives to whoever asks for any, on Linux from 32768 on: nobody gets one by chance.
const [lowest, share, shares] = [10_000, 1_000, 20];
/** The ports of this process: of twenty that run beside each other each has its own. */
const first = lowest + (Number(process.env["VITEST_POOL_ID"] ?? 0) % shares) * share;
// Somewhere, since another run of the tests may be at the same.
let next = randomInt(share);

/**
 * A port of the loopback address that nobody listens at, for programs that can't take one by themselves, and for those that are to come back
 * to it. It stays free until somebody takes it who was told of it, in this run of the tests.
 */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < share; tried += 1) {
    const port = first + next;
    next = (next + 1) % share;
    if (await isFree(port)) return port;
  }
  throw new Error(`No port of ${first} to ${first + share - 1} is free.`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return false;
    throw error;
  }
  server.close();
  await once(server, "close");
  return true;
}
