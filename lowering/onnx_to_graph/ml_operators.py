"""The table of supported operators of domain ai.onnx.ml, whose versions are counted by themselves."""

from mnc.lowering.onnx_to_graph.operator_entry import Operator
from mnc.lowering.onnx_to_graph.ops.ml import encoders, features, linear, svm, trees

ML_OPERATORS: dict[str, Operator] = {
    "ArrayFeatureExtractor": Operator(features.array_feature_extractor, (1,)),
    "Binarizer": Operator(features.binarizer, (1,)),
    "FeatureVectorizer": Operator(features.feature_vectorizer, (1,)),
    "Imputer": Operator(features.imputer, (1,)),
    "LabelEncoder": Operator(encoders.label_encoder, (2, 4), "between numbers"),
    "LinearClassifier": Operator(linear.linear_classifier, (1,), "integer labels; no PROBIT"),
    "LinearRegressor": Operator(linear.linear_regressor, (1,), "no PROBIT"),
    "Normalizer": Operator(features.normalizer, (1,)),
    "OneHotEncoder": Operator(encoders.one_hot_encoder, (1,), "integer categories; others give zeros"),
    "SVMClassifier": Operator(svm.svm_classifier, (1,), "integer labels; probabilities of two classes; no PROBIT"),
    "SVMRegressor": Operator(svm.svm_regressor, (1,), "no PROBIT"),
    "Scaler": Operator(features.scaler, (1,)),
    "TreeEnsemble": Operator(trees.tree_ensemble, (5,), "no PROBIT"),
    "TreeEnsembleClassifier": Operator(trees.tree_ensemble_classifier, (1, 3, 5), "integer labels; no PROBIT"),
    "TreeEnsembleRegressor": Operator(trees.tree_ensemble_regressor, (1, 3, 5), "no PROBIT"),
}
