"""TRL's own trainer takes our environments: one step of GRPO with a tiny model that is made here, its replies scripted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lodestep
from lodestep.trl import environment_factory

torch = pytest.importorskip("torch", reason="torch is not installed")
trl = pytest.importorskip("trl", reason="trl is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
datasets = pytest.importorskip("datasets", reason="datasets is not installed")


def tokenizer() -> Any:
    """Bytes as tokens, with the chat template of a model family whose tool calls the trainer can read."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    out = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token="<|im_end|>", pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>"],
    )  # fmt: skip
    out.chat_template = (Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text()
    return out


def test_a_step_of_grpo(tmp_path: Path, env_name: str) -> None:
    words = tokenizer()
    env = lodestep.make(env_name, max_steps=60)
    task = lodestep.tasks(env.factory)[0]
    step, gold = env.reset(task, seed=0), []
    while not step.done and len(gold) < 8 and (action := env.gold_action()):
        gold.append(action)
        step = env.step(action)

    class Scripted(transformers.Qwen3ForCausalLM):
        """Says a tool call as long as it has lines, then a last word; every second member plays nonsense."""

        def generate(self, input_ids: Any, **_: Any) -> Any:
            replies = []
            for i, prompt in enumerate(words.batch_decode(input_ids)):
                turn = prompt.count("<tool_response>")
                line = gold[turn] if turn < len(gold) else None
                if line is not None and i % 2:
                    line = "nonsense"
                call = f'<tool_call>\n{{"name": "act", "arguments": {{"action": "{line}"}}}}\n</tool_call>'
                replies.append(words("Done.<|im_end|>" if line is None else f"{call}<|im_end|>").input_ids)
            longest = max(map(len, replies))
            padded = [[*reply, *[words.pad_token_id] * (longest - len(reply))] for reply in replies]
            return torch.cat([input_ids, torch.tensor(padded, device=input_ids.device)], dim=1)

    config = transformers.Qwen3Config(
        vocab_size=len(words), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, head_dim=8, max_position_embeddings=65536,
        eos_token_id=words.eos_token_id, pad_token_id=words.pad_token_id,
    )  # fmt: skip
    made: list[Any] = []
    kind = environment_factory(env_name, max_steps=60)

    def factory() -> Any:
        made.append(kind())
        return made[-1]

    prompt = [{"role": "user", "content": "Play."}]
    trainer = trl.GRPOTrainer(
        model=Scripted(config),
        processing_class=words,
        train_dataset=datasets.Dataset.from_list([{"prompt": prompt, "task": task, "seed": 0}] * 2),
        environment_factory=factory,
        args=trl.GRPOConfig(
            output_dir=str(tmp_path), max_steps=1, num_generations=4, per_device_train_batch_size=4,
            max_completion_length=30000, use_cpu=True, report_to=[], save_strategy="no", logging_steps=1,
        ),
    )  # fmt: skip
    trainer.train()
    logged = trainer.state.log_history[0]
    assert logged["tools/call_frequency"] == len(gold) and logged["tools/failure_frequency"] == 0
    won = step.outcome == "success"
    assert logged["reward"] == (0.5 if won else 0.0)  # every second member plays nonsense
    assert {environment._env.task.id for environment in made[-4:]} == {task}
