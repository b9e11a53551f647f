"""MLflow."""

from pydantic import Field

from gossipgan.config.settings.section import Placement, Section


class TrackingSettings(Section):
    """MLflow, as a view of the journals."""

    mlflow: bool = Field(True, description="write runs to MLflow", json_schema_extra=Placement)
    uri: str | None = Field(
        None, description="MLflow's store; null: MLFLOW_TRACKING_URI, or else mlflow.db beside params.yaml"
    )
    experiment: str = Field("gossipgan", min_length=1, description="MLflow experiment")
