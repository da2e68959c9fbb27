/** Version of the package, and so of the agent in it; a test holds it against package.json. */
export const version = "0.1.0";
