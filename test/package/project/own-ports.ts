/** What is written with `fleetwright/ports`, where the rest of the package wants it; and the suites, run over it. */
import { checkModule, nodeCrypto, Orchestrator } from "fleetwright";
import { createAgent } from "fleetwright/agent";
import {
  createSocketPair,
  FakeClock,
  hostConformance,
  lawFolder,
  MemoryHost,
  resourceLaws,
  storageConformance,
  transportConformance,
  type StorageSubject,
  type TransportUnderTest,
} from "fleetwright/testing";
import { OwnHost } from "./own-host.ts";
import { OwnData, OwnStorage } from "./own-storage.ts";
import { OwnTransport } from "./own-transport.ts";
import { noteType, types } from "./own-type.ts";

export const transport = new OwnTransport({ sendLimitBytes: 1024 * 1024, maxPendingAgents: 2 });
export const storage = new OwnStorage(new FakeClock(), new OwnData());
export const orchestrator = new Orchestrator({ storage, transport, ownTypes: [noteType] });
export const host = new OwnHost(new MemoryHost());

export function start(): ReturnType<typeof createAgent> {
  const dial = async () => {
    const [agentEnd, orchestratorEnd] = createSocketPair();
    transport.accept(orchestratorEnd);
    return agentEnd;
  };
  return createAgent({ dial, stateDir: "state", host, types });
}

export const moduleText = "name: notes\nresources:\n  - { type: note, path: /work/note, text: hello }\n";
export const moduleCheck = checkModule(moduleText, types);

async function storageSubject(): Promise<StorageSubject> {
  const clock = new FakeClock();
  const data = new OwnData();
  const again = (): OwnStorage => new OwnStorage(clock, data);
  return { storage: again(), clock, again, dispose: async () => {} };
}

async function transportSubject(limits: {
  sendLimitBytes: number;
  maxPendingAgents: number;
}): Promise<TransportUnderTest> {
  const tried = new OwnTransport(limits);
  const connect: TransportUnderTest["connect"] = async () => {
    const [agentEnd, orchestratorEnd] = createSocketPair();
    tried.accept(orchestratorEnd);
    return agentEnd;
  };
  return { transport: tried, connect, dispose: async () => {} };
}

function newHost(): OwnHost {
  const made = new OwnHost(new MemoryHost());
  made.files.makeDirectory(lawFolder, {});
  return made;
}

const suites = {
  storage: storageConformance(storageSubject),
  transport: transportConformance(transportSubject, nodeCrypto),
  // The first eight promises are about files and copies; programs and downloads are those of the host below.
  host: hostConformance(() => ({
    host: newHost(),
    folder: lawFolder,
    programs: { echo: ["cat"], fail: ["false"], wait: ["sleep", "600"] },
    urls: { hello: "http://127.0.0.1/", none: "http://127.0.0.1/", endless: "http://127.0.0.1/" },
  })).filter(({ promise }) => promise <= 8),
  "resource type": resourceLaws(
    {
      definition: { type: "note", id: "note", path: `${lawFolder}/note`, text: "hello" },
      types,
      breakIt: ({ files }) => files.writeFile(`${lawFolder}/note`, new TextEncoder().encode("other"), {}),
    },
    newHost,
  ).map((law) => ({ ...law, promise: 0 })),
};

/** Runs every case that needs no capability which is not there; tells how many kept their promise, and which did not. */
export async function runSuites(): Promise<Record<string, { kept: number; broken: string[] }>> {
  const report: Record<string, { kept: number; broken: string[] }> = {};
  for (const [name, cases] of Object.entries(suites)) {
    const result = { kept: 0, broken: [] as string[] };
    for (const one of cases) {
      if ("needs" in one && one.needs !== undefined) continue;
      try {
        await one.run();
        result.kept += 1;
      } catch (error) {
        result.broken.push(`${one.promise}. ${one.name}: ${String(error)}`);
      }
    }
    report[name] = result;
  }
  return report;
}
