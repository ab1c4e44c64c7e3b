// List the references of symbols as the TypeScript language service finds them.
//
//     node typescript_references.mjs PACKAGE ROOT < symbols.jsonl > references.jsonl
//
// PACKAGE is the folder of the npm package typescript 5. See jedi_references.py for the formats.

import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";

const [packageFolder, rootArgument] = process.argv.slice(2);
const ts = createRequire(import.meta.url)(path.resolve(packageFolder));
const root = fs.realpathSync(rootArgument);

const EXTENSIONS = /\.(ts|tsx|mts|cts|js|jsx|mjs|cjs)$/;
const SKIPPED = new Set(["node_modules", ".git", "dist"]);

function* filesIn(folder) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) {
      if (!SKIPPED.has(entry.name)) yield* filesIn(file);
    } else if (EXTENSIONS.test(entry.name)) yield file;
  }
}

const files = [...filesIn(root)];
const hasTypes = files.some((file) => /\.tsx?$/.test(file) && !file.endsWith(".d.ts"));
const used = files.filter((file) => !hasTypes || /\.[cm]?tsx?$/.test(file));
const own = path.join(root, "tsconfig.json");
const written = fs.existsSync(own) ? ts.readConfigFile(own, ts.sys.readFile).config ?? {} : {};
const options = {
  ...ts.convertCompilerOptionsFromJson(
    { paths: written.compilerOptions?.paths, baseUrl: written.compilerOptions?.baseUrl },
    root,
  ).options,
  allowJs: true,
  checkJs: !hasTypes,
  jsx: ts.JsxEmit.Preserve,
  module: hasTypes ? ts.ModuleKind.ESNext : ts.ModuleKind.CommonJS,
  moduleResolution: hasTypes ? ts.ModuleResolutionKind.Bundler : ts.ModuleResolutionKind.Node10,
  target: ts.ScriptTarget.ESNext,
  strict: true,
  noEmit: true,
  skipLibCheck: true,
};
const service = ts.createLanguageService({
  getCompilationSettings: () => options,
  getScriptFileNames: () => used,
  getScriptVersion: () => "1",
  getScriptSnapshot: (file) =>
    fs.existsSync(file) ? ts.ScriptSnapshot.fromString(fs.readFileSync(file, "utf8")) : undefined,
  getCurrentDirectory: () => root,
  getDefaultLibFileName: (settings) => ts.getDefaultLibFilePath(settings),
  fileExists: ts.sys.fileExists,
  readFile: ts.sys.readFile,
  readDirectory: ts.sys.readDirectory,
  directoryExists: ts.sys.directoryExists,
  getDirectories: ts.sys.getDirectories,
});
const program = service.getProgram();

for await (const line of readline.createInterface({ input: process.stdin })) {
  const row = JSON.parse(line);
  const file = path.join(root, row.file);
  const source = program.getSourceFile(file);
  if (!source) {
    console.log(JSON.stringify({ id: row.id, error: "not in the program" }));
    continue;
  }
  const start = ts.getPositionOfLineAndCharacter(source, row.line - 1, row.column);
  const places = new Map();
  try {
    for (const symbol of service.findReferences(file, start) ?? []) {
      for (const entry of symbol.references) {
        if (entry.isDefinition || !entry.fileName.startsWith(root + path.sep)) continue;
        const text = program.getSourceFile(entry.fileName);
        const at = ts.getLineAndCharacterOfPosition(text, entry.textSpan.start).line + 1;
        const name = path.relative(root, entry.fileName);
        places.set(`${name}:${at}`, [name, at]);
      }
    }
    console.log(JSON.stringify({ id: row.id, references: [...places.values()] }));
  } catch (error) {
    console.log(JSON.stringify({ id: row.id, error: String(error) }));
  }
}
