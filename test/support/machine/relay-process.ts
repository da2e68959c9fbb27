/**
 * The far side of a relayed host: a process on the machine, which does there what it is told.
 * `relay-process.ts STATE-FOLDER`; calls come on standard input, answers go to it or, where the caller waits, to descriptor 3.
 */
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { isOrchestratorError } from "../../../lib/errors.ts";
import { LocalHost } from "../../../lib/host/local-host.ts";
import { fromLine, type RelayedAbort, type RelayedAnswer, type RelayedCall, toLine } from "./relay.ts";

const host = new LocalHost({ stateFolder: process.argv[2] ?? "" });
const running = new Map<number, AbortController>();

function call({ id, part, below, method, args }: RelayedCall): unknown {
  if (part === "host") {
    if (method === "barrier") return host.barrier();
    const controller = new AbortController();
    running.set(id, controller);
    return Reflect.apply(Reflect.get(host, method), host, [...args, controller.signal]);
  }
  let target: object = host[part];
  for (const folder of below) target = Reflect.apply(Reflect.get(target, "below"), target, [folder]);
  return Reflect.apply(Reflect.get(target, method), target, args);
}

function failed(id: number, error: unknown): RelayedAnswer {
  const known = isOrchestratorError(error) ? error : null;
  const message = error instanceof Error ? error.message : String(error);
  return { id, error: { code: known?.code ?? null, message, details: known?.details ?? {} } };
}

/** A caller that waits is answered before anything else is done. */
function answer(request: RelayedCall): void {
  if (request.blocks) {
    let result: RelayedAnswer;
    try {
      result = { id: request.id, value: call(request) };
    } catch (error) {
      result = failed(request.id, error);
    }
    writeSync(3, toLine(result));
    return;
  }
  void Promise.resolve(call(request))
    .then((value): RelayedAnswer => ({ id: request.id, value }))
    .catch((error: unknown) => failed(request.id, error))
    .then((result) => void process.stdout.write(toLine(result)))
    .finally(() => running.delete(request.id));
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const request = fromLine(line) as RelayedCall | RelayedAbort;
  if ("abort" in request) running.get(request.abort)?.abort();
  else answer(request);
});
