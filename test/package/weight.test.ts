/** What an import of the built package loads, and what only its use does: a program pays for what it uses. */
import { expect, it } from "vitest";
import { loadedBy } from "../support/loaded-files.ts";

const ofServers = ["h3", "listhen", "trpc-to-openapi", "@trpc/server", "node-forge", "crossws", "srvx"];
const ofModules = ["liquidjs", "yaml"];

it("loads no server, no templates and no YAML where the library is imported alone", () => {
  const { packages, files } = loadedBy("fleetwright");
  expect(packages).toMatchObject({ fleetwright: expect.any(Number) as number });
  expect(Object.keys(packages).filter((name) => [...ofServers, ...ofModules].includes(name))).toEqual([]);
  expect(Object.keys(packages).sort()).toEqual([
    "croner",
    "diff",
    "fleetwright",
    "lowdb",
    "tweetnacl",
    "zod",
  ]);
  // 626 with metrics, terminals and discovery; 650 with secrets; 688 with types of channels; 708 with notifications; 760 with alarms, the summary and enrolment tokens.
  expect(files).toBeLessThan(800);
});

it("loads YAML for a module, and templates for the first that has one", () => {
  const plain = loadedBy("fleetwright", 'it.checkModule("name: plain\\nresources: []\\n");');
  expect(plain.packages).toHaveProperty("yaml");
  expect(plain.packages).not.toHaveProperty("liquidjs");
  const templated = loadedBy(
    "fleetwright",
    `const text = "name: templated\\nresources:\\n  - type: file\\n    path: /etc/motd\\n    content: '{{ tags.site }}'\\n";
     const { faults } = it.checkModule(text);
     if (faults.length > 0) throw new Error(JSON.stringify(faults));`,
  );
  expect(templated.packages).toHaveProperty("liquidjs");
});

it("loads what listens and what describes only to listen and to describe", () => {
  expect(Object.keys(loadedBy("fleetwright/client").packages)).toEqual(["fleetwright"]);
  const imported = loadedBy("fleetwright/h3").packages;
  expect(imported).toHaveProperty("h3");
  expect(imported).not.toHaveProperty("listhen");
  expect(imported).not.toHaveProperty("trpc-to-openapi");
  const app = (use: string): string => `
    const { MemoryStorage, MemoryTransport, Orchestrator } = await import("fleetwright");
    const orchestrator = new Orchestrator({ storage: new MemoryStorage(), transport: new MemoryTransport() });
    await orchestrator.start();
    const app = it.createOrchestratorApp({ orchestrator });
    const assertServed = async (path) => {
      const { status } = await app.fetch(new Request("http://localhost" + path));
      if (status !== 200) throw new Error(path + ": " + status);
    };
    ${use}
    await orchestrator.stop();`;
  const served = loadedBy("fleetwright/h3", app('await assertServed("/readyz");')).packages;
  expect(served).not.toHaveProperty("listhen");
  expect(served).not.toHaveProperty("trpc-to-openapi");
  const described = app('await assertServed("/api/v1/openapi.json"); await assertServed("/docs");');
  expect(loadedBy("fleetwright/h3", described).packages).toHaveProperty("trpc-to-openapi");
  const listening = app("await (await it.listenApp(app, { port: 0 })).close();");
  expect(loadedBy("fleetwright/h3", listening).packages).toHaveProperty("listhen");
});

it("loads neither the library nor its packages for a command line that only asks a server", () => {
  const { packages, files } = loadedBy("fleetwright/cli");
  expect(Object.keys(packages).sort()).toEqual(["commander", "fleetwright"]);
  // 115 with everything but the library.
  expect(files).toBeLessThan(150);
});

it("loads what counts for Prometheus only where figures are asked for", () => {
  const serve = (options: string): string => `
    const { MemoryStorage } = await import("fleetwright");
    const server = await it.startServer({ storage: new MemoryStorage(), listen: { port: 0 }, ${options} });
    await server.close();`;
  const counting = loadedBy("fleetwright/h3", serve('metricsToken: "a-token-of-figures"')).packages;
  expect(counting).toHaveProperty("prom-client");
  const plain = loadedBy("fleetwright/h3", serve("")).packages;
  expect(Object.keys(plain).filter((name) => /prom-client|opentelemetry|tdigest/.test(name))).toEqual([]);
});
