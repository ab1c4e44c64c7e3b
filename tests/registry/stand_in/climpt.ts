// A stand-in for climpt: it takes climpt's arguments and prints a prompt of the project, without a network.
//
// deno run … climpt.ts --config=NAME c2 c3 [--edition= --adaptation= --from= --destination= --uv-NAME=]

const named = new Map<string, string>();
const positional: string[] = [];
for (const argument of Deno.args) {
  const [, name, value] = argument.match(/^--([\w-]+)=(.*)$/s) ?? [];
  if (name) named.set(name, value);
  else positional.push(argument);
}
const [c2, c3] = positional;
if (!named.has("config") || positional.length !== 2) {
  console.error(`Usage: climpt --config=NAME c2 c3, not ${JSON.stringify(Deno.args)}`);
  Deno.exit(2);
}
const adaptation = named.has("adaptation") ? `_${named.get("adaptation")}` : "";
const name = `f_${named.get("edition") ?? "default"}${adaptation}.md`;
const file = `.agent/climpt/prompts/${named.get("config")}/${c2}/${c3}/${name}`;
let text: string;
try {
  text = await Deno.readTextFile(file);
} catch (error) {
  console.error(`No prompt: ${(error as Error).message}`);
  Deno.exit(1);
}
const values: Record<string, string | undefined> = {
  input_text: await new Response(Deno.stdin.readable).text(),
  input_text_file: named.get("from"),
  destination_path: named.get("destination"),
};
const body = text.replace(/^---\n.*?\n---\n+/s, "");
const filled = body.replace(
  /\{([\w-]+)\}/g,
  (whole, variable) => values[variable] ?? named.get(variable) ?? whole,
);
await Deno.stdout.write(new TextEncoder().encode(filled));
