/** Ends with 0 where the server of this container answers GET /livez, whether it ends TLS or not. */
import { get as getPlain } from "node:http";
import { get as getOverTls } from "node:https";

const host = "127.0.0.1";
const port = process.env["FLEETWRIGHT_PORT"];

const statusOf = (get, options) =>
  new Promise((resolve, reject) => {
    const request = get({ host, port, path: "/livez", timeout: 4_000, ...options }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on("timeout", () => request.destroy(new Error("It does not answer.")));
    request.on("error", reject);
  });

// Which certificate it has is nobody's business here: nothing is told, and it is this very machine.
const status = await statusOf(getOverTls, { rejectUnauthorized: false }).catch(() => statusOf(getPlain, {}));
process.exitCode = status === 200 ? 0 : 1;
