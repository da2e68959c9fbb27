/** A process that writes the profile of its user again and again, as a command does that signs in. Told how it is called. */
import { processContext } from "../../adapters/cli/process-context.ts";
import { writeProfile } from "../../adapters/cli/profile.ts";

const [name = ""] = process.argv.slice(2);
const context = processContext;
// What is long is longer on its way.
const token = `fw_${name.repeat(20_000)}`;
for (let n = 0; n < 300; n++) writeProfile(context, { url: "https://fleet.example", key: "/key", token });
