"""The form of a job, as a browser sends it."""

from typing import Any

from pydantic import BaseModel

from ..errors import Errors, InputError
from .settings import FACTS, SCANS, JobSettings

__all__ = ["JobForm"]


class JobForm(BaseModel):
    """The form of a job; what is left empty is as usual."""

    pipeline: str = ""
    operating_point: str = ""
    style: str = ""
    policy: str = ""
    patient_id: str = ""
    note_date: str = ""
    patient_name: str = ""
    patient_sex: str = ""
    encoding: str = ""
    columns: str = ""
    ocr_languages: str = ""
    ocr: str = ""
    pictures: str = ""
    codes: str = ""
    unread: str = ""
    verify_ocr: str = ""
    llm: str = ""
    llm_prompt: str = ""
    llm_name: str = ""
    llm_labels: list[str] = []

    def settings(self) -> JobSettings:
        """The settings that it stands for. RAISES: InputError if there are no such (D927)."""
        names = ("pipeline", "operating_point", "style", "policy", "encoding", *FACTS, *SCANS)
        given: dict[str, Any] = {name: getattr(self, name) for name in names if getattr(self, name)}
        given["ocr_languages"] = self.ocr_languages.replace(",", " ").split()
        rows = [line.rpartition("=") for line in self.columns.splitlines() if line.strip()]
        given["columns"] = {name.strip(): action.strip() for name, _, action in rows}
        if self.llm:
            given["llm"] = {"location": self.llm, "prompt": self.llm_prompt, "model": self.llm_name}
            given["llm"]["labels"] = self.llm_labels
        try:
            return JobSettings(**given)
        except ValueError:
            raise InputError(Errors.D927) from None
