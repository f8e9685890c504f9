// A small model behind OpenAI's /v1/chat/completions, one request at a time, on a free port of loopback.
// usage: node server.mjs <folder with node_modules> <model.gguf>; prints "listening <port>" when it is ready.
import http from "node:http";
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";

const [folder, modelPath] = process.argv.slice(2);
const require = createRequire(folder + "/");
const {getLlama, LlamaChatSession} = await import(pathToFileURL(require.resolve("node-llama-cpp")).href);

// One thread: on a busy machine several wait for each other actively and are many times slower.
const llama = await getLlama({gpu: false, build: "never", logLevel: "error", maxThreads: 1});
const model = await llama.loadModel({modelPath});
const context = await model.createContext({contextSize: 4096, threads: 1});
let last = Promise.resolve();

async function answer(body) {
    const [system, user] = body.messages.map((message) => message.content);
    const read = model.tokenize(system + user).length;
    const most = body.max_tokens ?? 256;
    if (read + most > 4000)
        return [400, {error: {code: "context_length_exceeded", message: "the prompt exceeds the context length"}}];
    const sequence = context.getSequence();
    try {
        const session = new LlamaChatSession({contextSequence: sequence, systemPrompt: system});
        const shape = body.response_format?.json_schema?.schema;
        const grammar = shape ? await llama.createGrammarForJsonSchema(shape) : undefined;
        const {responseText, stopReason} = await session.promptWithMeta(user, {grammar, maxTokens: most, temperature: 0});
        const usage = {prompt_tokens: read, completion_tokens: model.tokenize(responseText).length};
        const choice = {
            index: 0,
            message: {role: "assistant", content: responseText},
            finish_reason: stopReason === "maxTokens" ? "length" : "stop",
        };
        return [200, {choices: [choice], usage}];
    } finally {
        sequence.dispose();
    }
}

const server = http.createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
        last = last.then(async () => {
            let status = 500, said = {error: {message: "the model failed"}};
            try {
                [status, said] = await answer(JSON.parse(Buffer.concat(chunks).toString("utf8")));
            } catch (error) {
                console.error(error);
            }
            const content = JSON.stringify(said);
            response.writeHead(status, {"content-type": "application/json"});
            response.end(content);
        });
    });
});
server.listen(0, "127.0.0.1", () => console.log(`listening ${server.address().port}`));
