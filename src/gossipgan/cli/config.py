"""``gossipgan config``: what is set, and what can be."""

import json
import sys
from typing import Annotated

import typer
from ruamel.yaml import YAML

from gossipgan.cli.options import PARAMS, Experiment, Overrides, Params
from gossipgan.config import load_params, params_schema

app = typer.Typer(help="Show settings, and what can be set.", no_args_is_help=True, rich_markup_mode=None)


@app.command()
def show(
    experiment: Experiment = None,
    overrides: Overrides = None,
    params: Params = PARAMS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of YAML.")] = False,
) -> None:
    """Print the resolved settings.

    Lowest first: defaults, the sections of the file, the experiment, overrides.
    """
    settings = load_params(params).settings(experiment, overrides or ())
    content = settings.model_dump(mode="json")
    if as_json:
        typer.echo(json.dumps(content, indent=2))
        return
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    # In the order of the schema; typed as None, which is what it starts as.
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.dump(content, sys.stdout)


@app.command()
def schema() -> None:
    """Print the JSON schema of the params file.

    Editors complete and check YAML by it.
    """
    typer.echo(json.dumps(params_schema(), indent=2))
