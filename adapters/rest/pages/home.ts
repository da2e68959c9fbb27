/** The page at the root of a server, for whoever opens its address in a browser. */
import { markup } from "./html.ts";
import { renderPage } from "./page.ts";

/** Writes the page. */
export function renderHome(mountPath: string): string {
  const body = markup`<h1>Fleetwright</h1>
    <p>This is an orchestrator: it keeps machines as their modules say. Operators work with the command line and over the API.</p>
    <dl>
      <div>
        <dt><a href="${mountPath}/docs">API reference</a></dt>
        <dd>every call of REST, which are those of tRPC, too; as a description: <a href="${mountPath}/api/v1/openapi.json">openapi.json</a></dd>
      </div>
      <div>
        <dt><a href="${mountPath}/problems">Problems</a></dt>
        <dd>every error code, why it comes and what to do</dd>
      </div>
      <div>
        <dt><a href="${mountPath}/api/v1/status">Status</a></dt>
        <dd>whether this server works</dd>
      </div>
    </dl>
    <p>To sign in: <code>fleetwright login --url</code> with the address of this page.</p>`;
  return renderPage({ title: "Orchestrator", mountPath, side: null, body });
}
